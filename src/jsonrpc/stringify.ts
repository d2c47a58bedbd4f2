import { encodeUtf8 } from '../base/bytes.ts';
import { isObject, type JsonObject, type Message, type Notification, type Response } from './message.ts';

/** The cached JSON of a constant value, created on first use. */
interface Written {
  text?: string;
  bytes?: Uint8Array;
}

const constants = new WeakMap<JsonObject, Written>();

/** Below this size in bytes, several writes cost more than one write of text. */
const SMALL = 4096;

/**
 * Declares that a value and everything in it never changes. As a result, it is converted to JSON only once. Freezes the
 * value, but not the values in it.
 */
export function constant<T extends JsonObject>(value: T): T {
  constants.set(value, {});
  return Object.freeze(value);
}

export function isConstant(value: JsonObject): boolean {
  return constants.has(value);
}

/**
 * Converts a message to JSON. The result of a response and the `result` of a notification are converted once if they are
 * constant.
 *
 * @throws TypeError (or RangeError) if that is not possible.
 */
export function stringify(message: Message): string {
  if ('params' in message && isObject(message.params?.['result'])) return withResult(message, message.params);
  const written = 'result' in message ? constants.get(message.result) : undefined;
  if (!written || !('result' in message)) return JSON.stringify(message);
  written.text ??= JSON.stringify(message.result);
  return head(message) + written.text + '}';
}

/** Whether a value can be converted to JSON. It cannot if it has a cycle, is nested too deep, or one of its methods throws. */
export function isWritable(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

/** Writes a notification that has a result, such as that of a task, which may go to many clients. */
function withResult(message: Message, { result, ...rest }: JsonObject): string {
  const written = constants.get(result);
  if (!written) return JSON.stringify(message);
  written.text ??= JSON.stringify(result);
  const { params: _params, ...others } = message as Notification;
  const text = JSON.stringify({ ...others, params: { ...rest, result: 0 } });
  return `${text.slice(0, -'0}}'.length)}${written.text}}}`;
}

/** Whether the JSON of a message is in memory once, however many messages have the same result. */
export function hasConstantResult(message: Message): boolean {
  return 'result' in message && isConstant(message.result);
}

/** Converts the responses of a batch to JSON, each like `stringify`. Throws the same errors. */
export function stringifyBatch(responses: readonly Response[]): string {
  return `[${responses.map(stringify).join(',')}]`;
}

/** Like `stringify`, but returns UTF-8 parts if they are cached. Throws the same errors. */
export function encode(message: Message): string | readonly Uint8Array[] {
  const written = 'result' in message ? constants.get(message.result) : undefined;
  if (!written || !('result' in message)) return JSON.stringify(message);
  if (!written.bytes) {
    written.text ??= JSON.stringify(message.result);
    written.bytes = encodeUtf8(written.text);
  }
  if (written.bytes.length < SMALL) return stringify(message);
  return [encodeUtf8(head(message)), written.bytes, END];
}

/** Like `stringifyBatch`, but returns UTF-8 parts if some are cached. Throws the same errors. */
export function encodeBatch(responses: readonly Response[]): string | readonly Uint8Array[] {
  const encoded = responses.map(encode);
  if (encoded.every((one) => typeof one === 'string')) return `[${encoded.join(',')}]`;
  const parts: Uint8Array[] = [];
  for (const one of encoded) {
    parts.push(parts.length === 0 ? BEGIN_BATCH : COMMA);
    if (typeof one === 'string') parts.push(encodeUtf8(one));
    else parts.push(...one);
  }
  parts.push(END_BATCH);
  return parts;
}

const END = encodeUtf8('}');
const COMMA = encodeUtf8(',');
const BEGIN_BATCH = encodeUtf8('[');
const END_BATCH = encodeUtf8(']');

function head({ id }: { readonly id: string | number }): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
}
