import { ErrorCode, RpcError } from './errors.ts';
import type { ErrorResponse } from './message.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from './pending.ts';

/** Maximum number of errors read from a chain. */
const MAX_LENGTH = 8;

/** An error, its cause, and so on: the first eight. Empty if the value is not an error. */
export function* errorChain(error: unknown): Generator<Error, void, undefined> {
  let each = error;
  for (let length = 0; length < MAX_LENGTH && each instanceof Error; length += 1) {
    yield each;
    each = each.cause;
  }
}

/** Why a transport could not carry a request to the server, or its response back. */
export interface TransportFailure extends Error {
  /** Whether the request was certainly not executed. If false, it may have been executed. */
  readonly notExecuted: boolean;
  /** Whether another attempt may succeed. */
  readonly temporary?: boolean;
  /** Whether the server could not be reached. */
  readonly unreachable?: boolean;
  /** Whether the server no longer knows the session. */
  readonly sessionGone?: boolean;
  /** The HTTP status of the response, if the status is the failure. */
  readonly status?: number;
  /** The JSON-RPC error that came with the status. */
  readonly response?: ErrorResponse | undefined;
}

/**
 * The first error of the chain that knows whether the request was executed. The first one decides: a lost answer stays
 * lost, even if a later attempt to fetch it failed in another way.
 */
export function transportFailure(error: unknown): TransportFailure | undefined {
  for (const each of errorChain(error)) {
    if ('notExecuted' in each && typeof each.notExecuted === 'boolean') return each as TransportFailure;
  }
  return undefined;
}

/** Whether an error says that the request was certainly not executed, so that any request can be sent again. */
export function certainlyNotExecuted(error: unknown): boolean {
  return transportFailure(error)?.notExecuted === true;
}

/** The error of the chain that says that the server could not be reached. */
export function unreached(error: unknown): Error | undefined {
  for (const each of errorChain(error)) if ('unreachable' in each && each.unreachable === true) return each;
  return undefined;
}

/** Whether the peer sent the error, or one that caused it. */
export function isFromPeer(error: unknown): boolean {
  for (const each of errorChain(error)) if (each instanceof RpcError && each.origin === 'peer') return true;
  return false;
}

/** The HTTP status that an error is about: the first in the chain. */
export function httpStatus(error: unknown): number | undefined {
  for (const each of errorChain(error)) if ('status' in each && typeof each.status === 'number') return each.status;
  return undefined;
}

/** Whether a request failed because its session has ended. Every later request of the session fails too. */
export function isSessionGone(error: unknown): boolean {
  for (const each of errorChain(error)) if ('sessionGone' in each && each.sessionGone === true) return true;
  return false;
}

/** Codes of errors after which another attempt may succeed. With any other code, the peer has refused. */
const TEMPORARY: ReadonlySet<number> = new Set([CONNECTION_CLOSED, REQUEST_TIMEOUT, ErrorCode.InternalError]);

/**
 * Whether another attempt may succeed: the connection was lost or the peer has a problem, and it did not refuse. The
 * first error of the chain with a `temporary` property decides, else the code of an `RpcError`. Undefined if neither
 * exists.
 */
export function isTemporary(error: unknown): boolean | undefined {
  for (const each of errorChain(error))
    if ('temporary' in each && typeof each.temporary === 'boolean') return each.temporary;
  return error instanceof RpcError ? TEMPORARY.has(error.code) : undefined;
}
