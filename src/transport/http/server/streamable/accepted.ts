import type { Response } from '../../../../jsonrpc/message.ts';
import { JSON_HEADERS } from '../access/refusal-format.ts';
import { NO_HEADERS, notAsked, notPassedOn, refuseMessage } from '../access/refusals.ts';
import type { HttpCall } from '../call.ts';
import type { Passed } from './other-processes.ts';

/** Answers a POST without requests whose message was passed on. */
export function respondPassed(call: HttpCall, passed: Passed): void {
  if (passed === 'taken') call.respond(202, NO_HEADERS);
  else if (passed === 'unwanted') refuseMessage(call, 400, notAsked(true));
  else refuseMessage(call, 503, notPassedOn());
}

/**
 * Answers a POST of a batch without requests.
 *
 * @param forNow whether the client may send it again.
 */
export function respondBatch(call: HttpCall, errors: readonly Response[], forNow = false): void {
  if (errors.length === 0) return call.respond(202, NO_HEADERS);
  if (forNow) call.refused('store_unavailable', 503);
  const headers = forNow ? { ...JSON_HEADERS, 'retry-after': '1' } : JSON_HEADERS;
  call.respond(forNow ? 503 : 400, headers, JSON.stringify(errors));
}
