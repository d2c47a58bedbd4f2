import { isObject, type JsonObject } from './message.ts';

/** The value of a JSON text. Undefined if it is not JSON. Messages go through `parseJson`, which has bounds. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object in a JSON text. Undefined if the text is something else. */
export function jsonObjectIn(text: string): JsonObject | undefined {
  const value = jsonIn(text);
  return isObject(value) ? value : undefined;
}
