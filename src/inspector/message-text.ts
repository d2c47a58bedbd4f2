import { CommandRefused } from '../inspect/page-server/command-refused.ts';
import { exactObject } from '../inspect/page-server/exact-json.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/** A request or a notification, without what belongs to its transport. */
export interface Sent {
  readonly method: string;
  readonly params: JsonObject;
}

/** An answer, without what belongs to its transport. */
export type Answer =
  | { readonly result: JsonObject }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };

/** What the user sees of a message, and may change. */
export type Content = Sent | Answer;

/** @throws CommandRefused if it is nested too deeply for a text. */
export function textOf(content: Content): string {
  try {
    return JSON.stringify(content);
  } catch (cause) {
    throw new CommandRefused(409, 'The message is nested too deeply to be shown.', { cause });
  }
}

/** @throws CommandRefused if the text is not a request or notification. */
export function parseRequest(text: string): Sent {
  const { method, params = {}, ...others } = exactObject(text, 'message');
  if (typeof method !== 'string' || !isObject(params) || Object.keys(others).length > 0)
    throw new CommandRefused(400, 'A request has "method", a string, and "params", an object, and nothing else.');
  return { method, params };
}

/** @throws CommandRefused if the text is not an answer. */
export function parseAnswer(text: string): Answer {
  const { result, error, ...others } = exactObject(text, 'answer');
  const isAnswer = (result === undefined) !== (error === undefined) && Object.keys(others).length === 0;
  if (isAnswer && isObject(result)) return { result };
  if (isAnswer && isObject(error) && Number.isInteger(error['code']) && typeof error['message'] === 'string')
    return { error: { code: error['code'] as number, message: error['message'], data: error['data'] as unknown } };
  throw new CommandRefused(
    400,
    'An answer has either "result", an object, or "error" with "code", a whole number, and "message", a string.',
  );
}
