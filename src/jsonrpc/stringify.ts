import { encodeUtf8 } from '../base/bytes.ts';
import type { JsonObject, Message } from './message.ts';

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

/** Converts a message to JSON. @throws TypeError (or RangeError) if that is not possible. */
export function stringify(message: Message): string {
  const written = 'result' in message ? constants.get(message.result) : undefined;
  if (!written || !('result' in message)) return JSON.stringify(message);
  written.text ??= JSON.stringify(message.result);
  return head(message) + written.text + '}';
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

const END = encodeUtf8('}');

function head({ id }: { readonly id: string | number }): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
}
