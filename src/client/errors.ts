import { printableLines } from '../base/printable.ts';
import { certainlyNotExecuted, errorChain, isFromPeer, transportFailure } from '../jsonrpc/error-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import type { Revision } from '../protocol/revisions.ts';
import { isRefusedUnread } from '../wire/era-evidence.ts';

/**
 * A time limit was reached: of a call, which is cancelled at the server; of waiting for a task, which continues; or of
 * connecting.
 */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  /** The limit that was reached, in milliseconds. */
  readonly limit: number;

  constructor(message: string, limit: number, options?: ErrorOptions) {
    super(printableLines(message), options);
    this.limit = limit;
  }
}

/**
 * The server cannot be reached, the connection was lost before the response, or the client was closed. `cause` has
 * details.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Whether the call certainly did not run, so that a retry cannot run it twice. If false, it may have run. */
  readonly notExecuted: boolean;

  constructor(message: string, options: ErrorOptions & { readonly notExecuted?: boolean } = {}) {
    // It may contain text of the server.
    super(printableLines(message), options);
    this.notExecuted = options.notExecuted ?? certainlyNotExecuted(options.cause);
  }
}

/** No connection could be made, so the request did not run. An immediate retry does not help. */
export class NoConnection extends ConnectionError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, notExecuted: true });
  }
}

/**
 * The server refused the request because it now speaks another revision. The next call connects again. This one is not
 * retried automatically.
 */
export class RevisionChanged extends ConnectionError {
  readonly temporary = true;

  constructor(what: string, revision: Revision, cause: Error) {
    const notExecuted = isRefusedUnread(cause) || certainlyNotExecuted(cause);
    const repeat = notExecuted
      ? 'this one did not run and can be repeated'
      : 'repeat this one only if it may run twice';
    super(
      `${what} failed: the server now seems to speak another revision than ${revision} (${cause.message}). ` +
        `The next call connects anew; ${repeat}`,
      { cause, notExecuted },
    );
  }
}

/** The server's result is malformed, or does not match the server's own schema. */
export class InvalidResultError extends Error {
  override readonly name = 'InvalidResultError';

  constructor(message: string, options?: ErrorOptions) {
    super(printableLines(message), options);
  }
}

/** The call became a task, and the task was cancelled (tasks extension: Task Cancellation). */
export class TaskCancelledError extends Error {
  override readonly name = 'TaskCancelledError';

  constructor(message: string) {
    super(printableLines(message));
  }
}

/**
 * Whether a call that failed with this error may be retried: it certainly did not run, or the connection was lost and
 * running twice does no harm.
 */
export function mayRepeat(error: unknown, idempotent: boolean): boolean {
  if (!(error instanceof ConnectionError) || error instanceof NoConnection || error instanceof RevisionChanged)
    return false;
  // The server has answered, and would answer the same again.
  if (transportFailure(error.cause)?.status !== undefined) return false;
  return error.notExecuted || idempotent;
}

/**
 * Whether an error came from the peer: it has no cause, or its cause is the HTTP status that it came with. A status
 * that refuses a request is a separate error, whatever the body says.
 */
function isOfServer(error: RpcError): boolean {
  if (!(error.cause instanceof Error)) return true;
  return transportFailure(error.cause)?.response?.error.code === error.code;
}

/**
 * Whether this side made the error with that code. A server may use the same code with another meaning (2026-07-28,
 * basic: Error Codes).
 */
function isOurs(error: RpcError, code: number): boolean {
  return error.code === code && !isFromPeer(error);
}

/**
 * The `OAuthError` of a login that failed. Its class belongs to another entry point, which the application imports if it
 * uses it.
 */
function loginFailure(thrown: unknown): Error | undefined {
  for (const each of errorChain(thrown)) if (each.name === 'OAuthError') return each;
  return undefined;
}

/**
 * The error for the caller of a failed call. The server's own error is returned unchanged, any other as a
 * `ConnectionError`. If a login failed, its `OAuthError` is returned.
 *
 * @param closed whether the connection is closed. If so, an error that reports this was made by this side.
 */
export function failure(what: string, thrown: unknown, closed: boolean): Error {
  const login = loginFailure(thrown);
  if (login) return login;
  if (thrown instanceof TimeoutError || thrown instanceof ConnectionError || thrown instanceof InvalidResultError)
    return thrown;
  const error = thrown instanceof Error ? thrown : RpcError.from(thrown);
  if (error instanceof RpcError && isOfServer(error) && !(closed && isOurs(error, CONNECTION_CLOSED))) return error;
  return new ConnectionError(`${what} failed: ${error.message}`, { cause: error });
}

/** The error if there is no connection. The server's own refusal and a failed login are returned unchanged. */
export function connectFailure(thrown: unknown, before: Error | undefined, limit: number): Error {
  const login = loginFailure(thrown);
  if (login) return login;
  const error = thrown instanceof Error ? thrown : RpcError.from(thrown);
  // The failed write to a command that has ended explains nothing.
  const explains = before && (before as NodeJS.ErrnoException).code !== 'EPIPE';
  const context = explains && !error.message.includes(before.message) ? ` (before that: ${before.message})` : '';
  const message = `Cannot connect: ${error.message}${context}`;
  if (!(error instanceof RpcError)) return new NoConnection(message, { cause: error });
  if (isOurs(error, REQUEST_TIMEOUT)) return new TimeoutError(message, limit, { cause: error });
  const isRefusal = !isOurs(error, CONNECTION_CLOSED) && isOfServer(error) && before === undefined;
  return isRefusal ? error : new NoConnection(message, { cause: error });
}
