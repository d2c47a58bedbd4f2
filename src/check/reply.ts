import { cutText } from '../base/short-text.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/** How much of a result and of a message of an error is shown, in UTF-16 code units. */
const MAX_RESULT = 60;
const MAX_MESSAGE = 120;

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

/** Says what the server did: that it answered, and with what, or that it did not. */
export function shown(reply: Reply): string {
  const { status, messages, failure } = reply;
  const error = errorIn(reply);
  const result = resultIn(reply);
  const answer = [
    status !== undefined && status > 0 && `HTTP ${status}`,
    error && `the error ${codeText(error['code'])} (${cutText(messageText(error['message']), MAX_MESSAGE)})`,
    !error && result && `a result (${cutText(JSON.stringify(result), MAX_RESULT)})`,
    !error && !result && messages.length > 0 && `the message ${cutText(JSON.stringify(messages[0]), MAX_RESULT)}`,
  ].filter(Boolean);
  const why = failure === undefined ? '' : `: ${failure}`;
  return answer.length > 0
    ? `the server answered with ${answer.join(' and ')}${failure === undefined ? '' : `, and then ${failure}`}`
    : `the server did not answer${why}`;
}

/** With a minus, as in the rules. */
function codeText(code: unknown): string {
  return typeof code === 'number' ? String(code).replace('-', '−') : (JSON.stringify(code) ?? 'without a code');
}

/** A message on one line: some libraries write JSON over many. */
function messageText(message: unknown): string {
  return typeof message === 'string'
    ? message.replaceAll(/\s+/g, ' ')
    : (JSON.stringify(message) ?? 'without a message');
}
