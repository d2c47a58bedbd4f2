import { quoting } from '../base/short-text.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { ContentBlock } from '../protocol/types.ts';

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

/** The fields that must be strings in content of each type (2025-11-25, server/tools: Tool Result). */
const STRINGS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: ['mimeType'],
  audio: ['mimeType'],
  resource_link: ['uri', 'name'],
};

/**
 * Checks content that a handler has made. Types that are not known are not checked.
 *
 * @param at its place in the result.
 * @throws TypeError that says what to write. A client would refuse the whole result, and the author would not know.
 */
function checkBlock(block: unknown, at: string): void {
  if (!isObject(block) || typeof block['type'] !== 'string')
    throw new TypeError(`${at} must be content, such as { type: 'text', text: '…' }`);
  const { type } = block;
  if ((type === 'image' || type === 'audio') && typeof block['data'] !== 'string')
    throw new TypeError(`the data of ${type} content must be base64; use ${type}(bytes, mimeType)`);
  if (type === 'resource') return checkContents(block['resource'], `${at}.resource`);
  if (!Object.hasOwn(STRINGS, type)) return;
  const missing = STRINGS[type]!.find((name) => typeof block[name] !== 'string');
  if (missing !== undefined) throw new TypeError(`${at}.${missing} must be a string`);
}

/** @throws TypeError as `checkBlock` does. */
function checkContents(contents: unknown, at: string): void {
  const fits =
    isObject(contents) &&
    typeof contents['uri'] === 'string' &&
    (typeof contents['text'] === 'string' || typeof contents['blob'] === 'string');
  if (!fits) throw new TypeError(`${at} must have a string "uri", and a string "text" or "blob" (base64)`);
}

/** Checks the content of a whole tool result. @throws TypeError as `checkBlock` does. */
export function checkContent(content: readonly unknown[]): void {
  content.forEach((block, index) => checkBlock(block, `content[${index}]`));
}

function withContent(content: readonly unknown[]): JsonObject {
  checkContent(content);
  return { content };
}

/** Converts the return value of a tool without `output` to a result. */
export function toolResult(reply: unknown): JsonObject {
  if (reply === undefined || reply === null) return { content: [] };
  if (typeof reply === 'string') return { content: [text(reply)] };
  if (typeof reply === 'number' || typeof reply === 'boolean') return { content: [text(String(reply))] };
  if (typeof reply !== 'object') throw new TypeError(`a tool cannot return a ${typeof reply}`);
  if (ArrayBuffer.isView(reply) || reply instanceof ArrayBuffer)
    throw new TypeError('a tool cannot return bytes; use image(), audio() or resource()');
  if (Array.isArray(reply) && reply.every(isBlock)) return withContent(reply);
  if (isBlock(reply)) return withContent([reply]);
  if (isObject(reply) && Array.isArray(reply['content'])) {
    checkContent(reply['content']);
    return reply;
  }
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
  const result = contentsResult(reply);
  if (result) {
    result.contents.forEach((contents, index) => checkContents(contents, `contents[${index}]`));
    return result;
  }
  throw new TypeError(quoting`the handler of resource ${uri} returned neither text, bytes, contents nor a result`);
}

function contentsResult(reply: unknown): { contents: readonly unknown[] } | undefined {
  if (Array.isArray(reply)) return { contents: reply };
  if (!isObject(reply)) return undefined;
  if (Array.isArray(reply['contents'])) return reply as { contents: readonly unknown[] };
  return typeof reply['text'] === 'string' || typeof reply['blob'] === 'string' ? { contents: [reply] } : undefined;
}

/** Converts the return value of a prompt's handler to a result. */
export function promptResult(reply: unknown, name: string, description: string | undefined): JsonObject {
  if (isObject(reply) && Array.isArray(reply['messages'])) {
    checkMessages(reply['messages']);
    return reply;
  }
  let messages: readonly unknown[];
  if (typeof reply === 'string') messages = [{ role: 'user', content: text(reply) }];
  else if (Array.isArray(reply)) checkMessages((messages = reply));
  else throw new TypeError(`the handler of prompt ${name} returned neither text, messages nor a result`);
  return description === undefined ? { messages } : { description, messages };
}

/** @throws TypeError as `checkBlock` does. */
function checkMessages(messages: readonly unknown[]): void {
  for (const [index, message] of messages.entries()) {
    const { role, content } = isObject(message) ? message : {};
    if (role !== 'user' && role !== 'assistant')
      throw new TypeError(`messages[${index}].role must be 'user' or 'assistant'`);
    checkBlock(content, `messages[${index}].content`);
  }
}
