import type { JsonObject, Message } from './message.ts';

/** The JSON of values that never change, once somebody has wanted it. */
interface Written {
  text?: string;
  bytes?: Buffer;
}

const constants = new WeakMap<JsonObject, Written>();

/** Below this, in bytes, several writes cost more than one of text. */
const SMALL = 4096;

/**
 * Says that a value never changes, with all that is in it: where it is a result, it is written as JSON once, however often
 * it is sent. Freezes it, not what is in it.
 */
export function constant<T extends JsonObject>(value: T): T {
  constants.set(value, {});
  return Object.freeze(value);
}

export function isConstant(value: JsonObject): boolean {
  return constants.has(value);
}

/** A message as JSON. @throws TypeError (or RangeError) where it cannot be written so. */
export function stringify(message: Message): string {
  const written = 'result' in message ? constants.get(message.result) : undefined;
  if (!written || !('result' in message)) return JSON.stringify(message);
  written.text ??= JSON.stringify(message.result);
  return head(message) + written.text + '}';
}

/** As `stringify`, or as the parts of it in UTF-8 where they are at hand. Throws as it does. */
export function encode(message: Message): string | readonly Uint8Array[] {
  const written = 'result' in message ? constants.get(message.result) : undefined;
  if (!written || !('result' in message)) return JSON.stringify(message);
  if (!written.bytes) {
    written.text ??= JSON.stringify(message.result);
    written.bytes = Buffer.from(written.text);
  }
  if (written.bytes.length < SMALL) return stringify(message);
  return [Buffer.from(head(message)), written.bytes, END];
}

const END = Buffer.from('}');

function head({ id }: { readonly id: string | number }): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
}
