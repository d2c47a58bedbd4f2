import { isObject, type ErrorResponse } from '../../jsonrpc/message.ts';

/**
 * The `data` of an error with which a server refuses a request before it does anything for it. With a status such as 503 a
 * client cannot know that otherwise: a proxy may answer so in place of a server that was at work.
 */
export const NOT_EXECUTED = { notExecuted: true } as const;

export function saysNotExecuted(response: ErrorResponse | undefined): boolean {
  const data = response?.error.data;
  return isObject(data) && data['notExecuted'] === true;
}
