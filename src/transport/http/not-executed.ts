import { isObject, type ErrorResponse } from '../../jsonrpc/message.ts';

/**
 * The `data` of an error which says that the server refused the request and did nothing for it. A status such as 503
 * alone does not show this, because a proxy may send it while a server still works on the request.
 */
export const NOT_EXECUTED = { notExecuted: true } as const;

export function saysNotExecuted(response: ErrorResponse | undefined): boolean {
  const data = response?.error.data;
  return isObject(data) && data['notExecuted'] === true;
}
