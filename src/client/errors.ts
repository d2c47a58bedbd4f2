import { RpcError } from '../jsonrpc/errors.ts';

/** A call was not answered within its time. The server was told that nobody waits for it any more. */
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
}

/** The server answered with what is no answer to the request, or breaks the schema that it gave itself. */
export class InvalidResultError extends Error {
  override readonly name = 'InvalidResultError';
}

/** The task that a call had become was cancelled (tasks extension: Task Cancellation). */
export class TaskCancelledError extends Error {
  override readonly name = 'TaskCancelledError';
}

/** Says by its name that a request certainly did not run: it never left, or its session was gone. */
const DID_NOT_RUN: ReadonlySet<string> = new Set(['NotSent', 'SessionGone']);
/** Causes of causes that are looked at. */
const MAX_CAUSES = 8;

/** Whether what failed certainly did not run, so that it may be sent again whatever it was. */
export function didNotRun(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth += 1) {
    if (DID_NOT_RUN.has(cause.name)) return true;
    ({ cause } = cause);
  }
  return false;
}

/**
 * What a caller is told of a call that failed: the server's own error as it is, and any other as a `ConnectionError`.
 *
 * @param lost whether the connection is over, so that an error with −32000 is ours and not the server's.
 */
export function failure(what: string, thrown: unknown, lost: boolean): Error {
  if (thrown instanceof TimeoutError || thrown instanceof ConnectionError || thrown instanceof InvalidResultError)
    return thrown;
  const error = thrown instanceof Error ? thrown : RpcError.from(thrown);
  if (error instanceof RpcError && !lost) return error;
  return new ConnectionError(`${what} failed: ${error.message}`, { cause: error });
}
