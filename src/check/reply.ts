import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/** What came back for something that was sent. */
export interface Reply {
  /** Over HTTP, the status. 0 if the connection failed before there was one. */
  readonly status?: number | undefined;
  readonly messages: readonly JsonObject[];
  /** The number of the newest record when all of it had come. */
  readonly n: number;
  /** Why nothing, or not everything, came. */
  readonly failure?: string | undefined;
}

/** The value of a text. Undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isResponse(message: JsonObject): boolean {
  return message['method'] === undefined && ('result' in message || 'error' in message);
}

/** The first result in a reply. */
export function resultIn({ messages }: Reply): JsonObject | undefined {
  const result = messages.find((each) => isObject(each['result']))?.['result'];
  return isObject(result) ? result : undefined;
}

/** The first error in a reply. */
export function errorIn({ messages }: Reply): JsonObject | undefined {
  const error = messages.find((each) => isObject(each['error']))?.['error'];
  return isObject(error) ? error : undefined;
}

export function codeIn(reply: Reply): unknown {
  return errorIn(reply)?.['code'];
}

/** Whether the server did what was asked: it sent a result, or accepted a notification. */
export function isAccepted(reply: Reply): boolean {
  if (resultIn(reply)) return true;
  return reply.status !== undefined && reply.status >= 200 && reply.status < 300 && !errorIn(reply);
}

/** Describes a reply in a few words: its status, and its error or result. */
export function shown(reply: Reply): string {
  const { status, messages, failure } = reply;
  const error = errorIn(reply);
  const result = resultIn(reply);
  const parts = [
    status !== undefined && status > 0 && `HTTP ${status}`,
    error && `the error ${JSON.stringify(error['code'])} (${String(error['message'])})`,
    !error && result && `a result (${cut(JSON.stringify(result))})`,
    !error && !result && messages.length > 0 && `the message ${cut(JSON.stringify(messages[0]))}`,
    failure !== undefined && failure,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(', ') : 'no answer';
}

function cut(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
