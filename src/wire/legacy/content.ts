import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../protocol/revisions.ts';

/**
 * A result with the content blocks that a revision knows: those that came later are told of in text, so that a client
 * that checks what it gets does not refuse the rest with them. Often the same object.
 */
export function shapeContent(result: JsonObject, profile: RevisionProfile): JsonObject {
  if (profile.audio && profile.structuredContent) return result;
  // `tools/call` has blocks, `prompts/get` has messages with one each.
  const content = shapeEach(result['content'], (block) => shapeBlock(block, profile));
  const messages = shapeEach(result['messages'], (message) => {
    const block = shapeBlock(message['content'], profile);
    return block === message['content'] ? message : { ...message, content: block };
  });
  if (content === result['content'] && messages === result['messages']) return result;
  return { ...result, ...(content === undefined ? {} : { content }), ...(messages === undefined ? {} : { messages }) };
}

/** The same array where nothing in it changes. */
function shapeEach(values: unknown, shape: (value: JsonObject) => unknown): unknown {
  if (!Array.isArray(values)) return values;
  const shaped = values.map((value: unknown) => (isObject(value) ? shape(value) : value));
  return shaped.some((value, index) => value !== values[index]) ? shaped : values;
}

function shapeBlock(block: unknown, { audio, structuredContent }: RevisionProfile): unknown {
  if (!isObject(block)) return block;
  const { type, annotations } = block;
  let text: string;
  if (type === 'audio' && !audio) text = `[audio, ${String(block['mimeType'])}]`;
  else if (type === 'resource_link' && !structuredContent) text = `${String(block['name'])}: ${String(block['uri'])}`;
  else return block;
  return { type: 'text', text, ...(annotations === undefined ? {} : { annotations }) };
}
