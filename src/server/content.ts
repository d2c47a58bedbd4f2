import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { ContentBlock, PromptMessage } from '../protocol/types.ts';

const BLOCKS: ReadonlySet<unknown> = new Set(['text', 'image', 'audio', 'resource_link', 'resource']);

export function text(value: string): ContentBlock {
  return { type: 'text', text: value };
}

/** A failed tool result, which the model can read and act on (2025-11-25, server/tools: Error Handling). */
export function toolError(message: string): JsonObject {
  return { content: [text(message)], isError: true };
}

function isBlock(value: unknown): value is ContentBlock {
  return isObject(value) && BLOCKS.has(value['type']);
}

/** @throws TypeError if bytes are not base64. */
function checked(block: ContentBlock): ContentBlock {
  if ('data' in block && typeof block.data !== 'string')
    throw new TypeError(`the data of ${block.type} content must be base64; use ${block.type}(bytes, mimeType)`);
  return block;
}

/** Converts the return value of a tool without `output` to a result. */
export function toolResult(reply: unknown): JsonObject {
  if (reply === undefined || reply === null) return { content: [] };
  if (typeof reply === 'string') return { content: [text(reply)] };
  if (typeof reply === 'number' || typeof reply === 'boolean') return { content: [text(String(reply))] };
  if (typeof reply !== 'object') throw new TypeError(`a tool cannot return a ${typeof reply}`);
  if (ArrayBuffer.isView(reply) || reply instanceof ArrayBuffer)
    throw new TypeError('a tool cannot return bytes; use image(), audio() or resource()');
  if (Array.isArray(reply) && reply.every(isBlock)) return { content: reply.map(checked) };
  if (isBlock(reply)) return { content: [checked(reply)] };
  if (isObject(reply) && Array.isArray(reply['content'])) return reply;
  return { content: [text(JSON.stringify(reply))] };
}

/**
 * Converts the return value of a resource's handler to a result. Undefined if the handler returned undefined,
 * which means that the resource does not exist.
 */
export function resourceResult(reply: unknown, uri: string, mimeType: string | undefined): JsonObject | undefined {
  if (reply === undefined || reply === null) return undefined;
  const head = mimeType === undefined ? { uri } : { uri, mimeType };
  if (typeof reply === 'string') return { contents: [{ ...head, text: reply }] };
  if (reply instanceof Uint8Array) {
    const blob = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength).toString('base64');
    return { contents: [{ ...head, blob }] };
  }
  if (Array.isArray(reply)) return { contents: reply };
  if (isObject(reply)) {
    if (Array.isArray(reply['contents'])) return reply;
    if (typeof reply['text'] === 'string' || typeof reply['blob'] === 'string') return { contents: [reply] };
  }
  throw new TypeError(`the handler of resource ${uri} returned neither text, bytes, contents nor a result`);
}

/** Converts the return value of a prompt's handler to a result. */
export function promptResult(reply: unknown, name: string, description: string | undefined): JsonObject {
  if (isObject(reply) && Array.isArray(reply['messages'])) return reply;
  let messages: PromptMessage[];
  if (typeof reply === 'string') messages = [{ role: 'user', content: text(reply) }];
  else if (Array.isArray(reply)) messages = reply;
  else throw new TypeError(`the handler of prompt ${name} returned neither text, messages nor a result`);
  return description === undefined ? { messages } : { description, messages };
}
