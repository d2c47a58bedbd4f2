import { quoting } from '../../../base/short-text.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { Method } from '../../../protocol/methods.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { shapeBlock, shapeContent } from './content.ts';
import { shapeTool } from './lists.ts';
import { shapeOutput } from './output.ts';
import { each, inside, put, without } from '../../../jsonrpc/shape.ts';
import { weightOf } from '../../../jsonrpc/weight.ts';
import { wholeRoom, type Room } from './room.ts';

/**
 * Converts the parameters of `sampling/createMessage` to their form in a revision. If a message may have only one
 * content block, a message with several becomes several messages of the same role. Often returns the same object.
 *
 * @param room what the messages may repeat. They take it even if they do not fit.
 * @throws RpcError −32601 if the messages use tools and the revision does not have tools in sampling. −32603 if the
 * messages become too large.
 */
export function shapeSampling(params: JsonObject, profile: RevisionProfile, room: Room = wholeRoom()): JsonObject {
  const bare = without(params, profile.unknown.properties.CreateMessageParams);
  if (profile.samplingFeatures) {
    const tools = each(bare['tools'], (tool) => shapeTool(tool, profile));
    const messages = each(bare['messages'], (message) => withKnownResults(message, profile));
    return put(put(bare, 'tools', tools), 'messages', messages);
  }
  const { messages } = bare;
  if (!Array.isArray(messages)) return bare;
  const several = messages.filter((message) => isObject(message) && Array.isArray(message['content']));
  takeCopies(several, room);
  const split = several.length > 0 ? messages.flatMap(splitBlocks) : messages;
  const known = each(split, (message) => inside(message, 'content', (block) => plainBlock(block, profile)));
  return put(bare, 'messages', known);
}

/** A message with one block or a list. Tool results in it are converted like those of calls. */
function withKnownResults(message: JsonObject, profile: RevisionProfile): JsonObject {
  const shape = (block: JsonObject): JsonObject =>
    block['type'] === 'tool_result' ? shapeContent(shapeOutput(block, profile), profile) : block;
  return inside(put(message, 'content', each(message['content'], shape)), 'content', shape);
}

/** @throws RpcError −32603 if the copies of these messages, one for each block, take too much memory. */
function takeCopies(several: readonly JsonObject[], room: Room): void {
  for (const { content: blocks, ...rest } of several) {
    room.bytes -= weightOf(rest, room.bytes) * blocks.length;
    if (room.bytes < 0) {
      throw new RpcError(
        ErrorCode.InternalError,
        `${Method.CreateMessage} was not sent: its messages with several blocks are too long for the revision of the client`,
      );
    }
  }
}

function splitBlocks(message: unknown): unknown {
  if (!isObject(message) || !Array.isArray(message['content'])) return message;
  return message['content'].map((content: unknown) => ({ ...message, content }));
}

function plainBlock(block: JsonObject, profile: RevisionProfile): JsonObject {
  const { type } = block;
  if (type !== 'tool_use' && type !== 'tool_result') return shapeBlock(block, profile);
  throw new RpcError(
    ErrorCode.MethodNotFound,
    quoting`${Method.CreateMessage} was not sent: revision ${profile.revision} has no ${type} content`,
  );
}
