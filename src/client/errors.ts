import { certainlyNotExecuted, isFromPeer, transportFailure } from '../jsonrpc/error-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import type { Revision } from '../protocol/revisions.ts';
import { isRefusedUnread } from '../wire/era-evidence.ts';

/**
 * Something took longer than it may: a call, of which the server was told that nobody waits for it any more; the wait for a
 * task, which goes on; connecting.
 */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  /** The limit that was reached, in milliseconds. */
  readonly limit: number;

  constructor(message: string, limit: number, options?: ErrorOptions) {
    super(message, options);
    this.limit = limit;
  }
}

/** The server cannot be reached, the connection was lost before the answer, or the client was closed; `cause` has more. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Whether the call certainly did not run: made again, it does not run twice. Where false, it may have run. */
  readonly notExecuted: boolean;

  constructor(message: string, options: ErrorOptions & { readonly notExecuted?: boolean } = {}) {
    super(message, options);
    this.notExecuted = options.notExecuted ?? certainlyNotExecuted(options.cause);
  }
}

/** There is no connection to be had, so what was to be sent over it did not run. To try again at once is of no use. */
export class NoConnection extends ConnectionError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, notExecuted: true });
  }
}

/**
 * The server refused the request as one that speaks another revision now. The next call connects anew; this one is not made
 * again by itself.
 */
export class RevisionChanged extends ConnectionError {
  readonly temporary = true;

  constructor(what: string, revision: Revision, cause: Error) {
    const notExecuted = isRefusedUnread(cause) || certainlyNotExecuted(cause);
    const repeat = notExecuted
      ? 'this one did not run and can be repeated'
      : 'this one can be repeated if it may run twice';
    super(
      `${what} failed: the server seems to speak another revision than ${revision} now (${cause.message}). ` +
        `The next call connects anew; ${repeat}`,
      { cause, notExecuted },
    );
  }
}

/** The server answered with what is no answer to the request, or breaks the schema that it gave itself. */
export class InvalidResultError extends Error {
  override readonly name = 'InvalidResultError';
}

/** The task that a call had become was cancelled (tasks extension: Task Cancellation). */
export class TaskCancelledError extends Error {
  override readonly name = 'TaskCancelledError';
}

/**
 * Whether a call that failed with this may be made once more: it certainly did not run, or the connection was lost and to
 * run twice does no harm.
 */
export function mayRepeat(error: unknown, idempotent: boolean): boolean {
  if (!(error instanceof ConnectionError) || error instanceof NoConnection || error instanceof RevisionChanged)
    return false;
  // The server has answered, and would say the same again.
  if (transportFailure(error.cause)?.status !== undefined) return false;
  return error.notExecuted || idempotent;
}

/**
 * Whether an error came from the peer: it has no cause, or the status that it came with. A status with which a request is
 * turned away is an error of its own, whatever its body says.
 */
function isOfServer(error: RpcError): boolean {
  if (!(error.cause instanceof Error)) return true;
  return transportFailure(error.cause)?.response?.error.code === error.code;
}

/**
 * Whether an error is this side's own of that code. A server may use the same, and means something else by it (2026-07-28,
 * basic: Error Codes).
 */
function isOurs(error: RpcError, code: number): boolean {
  return error.code === code && !isFromPeer(error);
}

/**
 * What a caller is told of a call that failed: the server's own error as it is, and any other as a `ConnectionError`.
 *
 * @param closed whether the connection is over: an error that says so is ours then.
 */
export function failure(what: string, thrown: unknown, closed: boolean): Error {
  if (thrown instanceof TimeoutError || thrown instanceof ConnectionError || thrown instanceof InvalidResultError)
    return thrown;
  const error = thrown instanceof Error ? thrown : RpcError.from(thrown);
  if (error instanceof RpcError && isOfServer(error) && !(closed && isOurs(error, CONNECTION_CLOSED))) return error;
  return new ConnectionError(`${what} failed: ${error.message}`, { cause: error });
}

/** Why there is no connection: the server's own refusal as it is. */
export function connectFailure(thrown: unknown, before: Error | undefined, limit: number): Error {
  const error = thrown instanceof Error ? thrown : RpcError.from(thrown);
  const context = before && !error.message.includes(before.message) ? ` (before that: ${before.message})` : '';
  const message = `Cannot connect: ${error.message}${context}`;
  if (!(error instanceof RpcError)) return new NoConnection(message, { cause: error });
  if (isOurs(error, REQUEST_TIMEOUT)) return new TimeoutError(message, limit, { cause: error });
  const isRefusal = !isOurs(error, CONNECTION_CLOSED) && isOfServer(error) && before === undefined;
  return isRefusal ? error : new NoConnection(message, { cause: error });
}
