import { errorChain, httpStatus, isFromPeer } from '../jsonrpc/error-chain.ts';
import { ErrorCode, type RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { isObject } from '../jsonrpc/message.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { REVISIONS, type Revision } from '../protocol/revisions.ts';

/** Statuses that do not depend on the server's revision: they concern authorization, size, rate or time. */
const NO_EVIDENCE: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 413, 425, 429, 431]);

/** Errors that only servers of 2026-07-28 send, whatever the method (basic: Error Codes). */
const OF_MODERN_SERVERS: ReadonlySet<unknown> = new Set([
  McpErrorCode.HeaderMismatch,
  McpErrorCode.UnsupportedProtocolVersion,
]);

/** Errors that servers of 2026-07-28 give to requests of that revision, with status 400 or 404. */
const IN_MODERN_ANSWERS: ReadonlySet<unknown> = new Set([
  ...OF_MODERN_SERVERS,
  McpErrorCode.MissingRequiredClientCapability,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
]);

/**
 * Whether an error came from the server. An error that this side made has a cause, or is a timeout or a lost
 * connection.
 */
export function isAnswer(error: RpcError): boolean {
  if (isFromPeer(error)) return true;
  return error.cause === undefined && error.code !== REQUEST_TIMEOUT && error.code !== CONNECTION_CLOSED;
}

/** Whether an error has a status with which a server of the other era may reject an unknown request. */
export function saysForeign(error: unknown): boolean {
  const status = httpStatus(error) ?? 0;
  return status >= 400 && status < 500 && !NO_EVIDENCE.has(status);
}

/**
 * Whether a server refused a request because it does not (or no longer) speak its revision: it names other revisions,
 * or its status and error are those of the other era (2026-07-28, transports/streamable-http: Backward Compatibility).
 */
export function saysOtherRevision(error: unknown, revision: Revision): boolean {
  const named = revisionsIn(error);
  if (named) return !named.includes(revision);
  if (!saysForeign(error)) return false;
  const codes = [...errorChain(error)].map((each) => ('code' in each ? each.code : undefined));
  return REVISIONS[revision].era === 'legacy'
    ? codes.some((code) => OF_MODERN_SERVERS.has(code))
    : !codes.some((code) => IN_MODERN_ANSWERS.has(code));
}

/** Whether an error shows that the request was refused before anything was done for it. */
export function isRefusedUnread(error: unknown): boolean {
  for (const each of errorChain(error)) {
    if (!('code' in each)) continue;
    return OF_MODERN_SERVERS.has(each.code) || each.code === ErrorCode.InvalidRequest;
  }
  return false;
}

/** The revisions that a server lists in an error because it does not speak the requested one. */
function revisionsIn(error: unknown): unknown[] | undefined {
  for (const each of errorChain(error)) {
    if (!('code' in each) || each.code !== McpErrorCode.UnsupportedProtocolVersion || !('data' in each)) continue;
    const named: unknown = isObject(each.data) ? each.data['supported'] : undefined;
    if (Array.isArray(named)) return named;
  }
  return undefined;
}
