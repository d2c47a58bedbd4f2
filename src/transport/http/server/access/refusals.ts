import { shortJson } from '../../../../base/short-text.ts';
import { ErrorCode } from '../../../../jsonrpc/errors.ts';
import { errorResponse, type ErrorResponse, type RequestId } from '../../../../jsonrpc/message.ts';
import { InvalidMessage, invalidRequest } from '../../../../jsonrpc/parse.ts';
import type { AboutRefusal, HttpCall, HttpHeaders, HttpRefusal, RefusalReason } from '../call.ts';
import { NOT_EXECUTED } from '../../not-executed.ts';
import { JSON_HEADERS, REFUSED } from './refusal-format.ts';

export const NO_HEADERS: HttpHeaders = {};
/** A response that is cut off because it is not read. */
export const UNREAD: HttpRefusal = { reason: 'unread', status: undefined };

/** An HTTP error whose body is a JSON-RPC error without an id. */
export function refuse(
  call: HttpCall,
  status: number,
  message: string,
  headers: HttpHeaders = NO_HEADERS,
  reason: RefusalReason = 'malformed',
  about?: AboutRefusal,
): void {
  call.refused(reason, status, about);
  answer(call, status, errorResponse(undefined, { code: REFUSED, message }), headers);
}

/** Answers a call after an error: with the refusal of a message, or with an internal error, which is reported. */
export function failed(call: HttpCall, error: unknown, onerror: (error: Error) => void): void {
  if (error instanceof InvalidMessage) {
    call.refused('malformed', 400);
    return answer(call, 400, errorResponse(error.id, error.toObject()), NO_HEADERS);
  }
  onerror(error as Error);
  answer(call, 500, errorResponse(undefined, { code: ErrorCode.InternalError, message: 'Internal error' }), NO_HEADERS);
}

/** The error about a framework that names a principal which others could share. */
export const NO_PRINCIPAL =
  'The principal of a request is not a text, is empty, or has an unpaired surrogate; leave it undefined if nobody has logged in';

/** Answers a call whose credential cannot be checked now. The error is reported. */
export function unchecked(call: HttpCall, error: unknown, onerror: (error: Error) => void): void {
  onerror(error as Error);
  refuseForNow(call, 'The credential cannot be checked now', { 'retry-after': '5' }, 'credential_unchecked');
}

/** The answer to a request whose session cannot be read from its store now. */
export const NOT_CONTINUED = 'The session cannot be continued now, because its store does not answer; try again later';

export function notContinued(call: HttpCall): void {
  refuseForNow(call, NOT_CONTINUED, { 'retry-after': '5' }, 'store_unavailable');
}

/** Answers a request whose session this process has not opened, or no longer has. The store has it. */
export function closedHere(call: HttpCall): void {
  const message = 'The session is not open at this process now; try again later';
  refuseForNow(call, message, { 'retry-after': '1' }, 'session_not_open');
}

/** Refuses a DELETE that was done in part, or not at all. */
export function notEnded(call: HttpCall): void {
  const message = 'The session may still be open at another process; try again later';
  refuse(call, 503, message, { 'retry-after': '1' }, 'store_unavailable');
}

/** Refuses a call that may be repeated later. Nothing was done for it. */
function refuseForNow(
  call: HttpCall,
  message: string,
  headers: HttpHeaders,
  reason: RefusalReason,
  id?: RequestId,
): void {
  call.refused(reason, 503);
  answer(call, 503, errorResponse(id, { code: REFUSED, message, data: NOT_EXECUTED }), headers);
}

function answer(call: HttpCall, status: number, error: ErrorResponse, headers: HttpHeaders): void {
  call.respond(status, { ...JSON_HEADERS, ...headers }, JSON.stringify(error));
}

export function noSession(id?: RequestId): InvalidMessage {
  return invalidRequest('Mcp-Session-Id is missing; open a session with initialize first', id);
}

/** @param spoken the revision of the session. */
export function otherRevision(version: string, spoken: string | undefined): InvalidMessage {
  return invalidRequest(`MCP-Protocol-Version is ${shortJson(version)}, but this session speaks ${spoken}`);
}

export function sessionNotFound(call: HttpCall): void {
  refuse(call, 404, 'Session not found: it has ended or never existed; open a new one with initialize');
}

/**
 * Refuses an answer to a question that this process has not asked.
 *
 * @param shared whether several processes use the store.
 */
export function notAsked(shared: boolean): ErrorResponse {
  const message = shared
    ? 'No question waits for this answer: it was asked by another process, or by one that has ended; call again'
    : 'The server was restarted since it asked this, so nothing waits for the answer; call again';
  return errorResponse(undefined, { code: REFUSED, message });
}

/** Refuses a message for another process. That process may have got it, or not. */
export function notPassedOn(): ErrorResponse {
  const message = 'The message is for another process, which does not answer now; try again later';
  return errorResponse(undefined, { code: REFUSED, message });
}

/** Answers a POST whose only message was refused. */
export function refuseMessage(call: HttpCall, status: 400 | 503, refusal: ErrorResponse): void {
  call.refused(status === 400 ? 'malformed' : 'store_unavailable', status);
  answer(call, status, refusal, status === 400 ? NO_HEADERS : { 'retry-after': '1' });
}

export function tooManySessions(call: HttpCall): void {
  refuseForNow(call, 'Too many sessions', { 'retry-after': '60' }, 'too_many_sessions');
}

export function tooManyRequests(call: HttpCall, id: RequestId): void {
  refuseForNow(call, 'Too many requests are in flight', { 'retry-after': '1' }, 'too_many_requests', id);
}

/** The connection closes after the response, because the rest of the body is not read. */
export function noRoom(call: HttpCall): void {
  const headers = { 'retry-after': '1', connection: 'close' };
  refuseForNow(call, 'The server has no memory left for this request; try again later', headers, 'memory');
}

/** Reported too, because only the application can mend it. */
export function alreadyRead(call: HttpCall, onerror: (error: Error) => void): void {
  const message =
    'Something in front of the MCP server has read the body of the request; it must set request.body, or pass on a clone';
  onerror(new Error(message));
  answer(call, 500, errorResponse(undefined, { code: ErrorCode.InternalError, message }), NO_HEADERS);
}

export function shuttingDown(call: HttpCall): void {
  refuseForNow(call, 'The server is shutting down', { 'retry-after': '1' }, 'shutting_down');
}

export function methodNotAllowed(call: HttpCall, allow: string): void {
  refuse(call, 405, 'Method not allowed', { allow });
}
