import type { JsonObject, Message } from './message.ts';

/** The JSON of values that never change, once somebody has wanted it. */
const texts = new WeakMap<JsonObject, string | undefined>();

/**
 * Says that a value never changes, with all that is in it: where it is a result, it is written as JSON once, however often
 * it is sent. Freezes it, not what is in it.
 */
export function constant<T extends JsonObject>(value: T): T {
  texts.set(value, undefined);
  return Object.freeze(value);
}

export function isConstant(value: JsonObject): boolean {
  return texts.has(value);
}

/** A message as JSON. @throws TypeError (or RangeError) where it cannot be written so. */
export function stringify(message: Message): string {
  if (!('result' in message) || !texts.has(message.result)) return JSON.stringify(message);
  let text = texts.get(message.result);
  if (text === undefined) texts.set(message.result, (text = JSON.stringify(message.result)));
  return `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${text}}`;
}
