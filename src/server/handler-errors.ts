import { abortReason, isAborted } from '../core/base-exchange.ts';
import type { Exchange } from '../core/exchange.ts';
import { errorChain } from '../jsonrpc/error-chain.ts';
import { ErrorCode, isRpcError, RpcError } from '../jsonrpc/errors.ts';
import { isUserError } from './user-error.ts';

export interface HandlerErrorsOptions {
  /** Whether callers see every error unchanged. */
  readonly expose: boolean;
  readonly onerror: (error: Error) => void;
}

/**
 * Decides which errors of handlers and middleware a caller sees. A `UserError` or `RpcError` reaches the caller
 * unchanged. Any other error may contain paths, addresses or queries: it goes to `onerror`, and the caller gets an
 * internal error.
 */
export class HandlerErrors {
  readonly #options: HandlerErrorsOptions;

  constructor(options: HandlerErrorsOptions) {
    this.#options = options;
  }

  /**
   * Returns the error for the caller. Reports an error that the caller must not see.
   *
   * @param what the name of what failed, such as a tool or a method.
   */
  forCaller(thrown: unknown, what: string, exchange: Exchange): Error {
    if (isForCaller(thrown)) return thrown;
    const error = thrown instanceof Error ? thrown : new Error(RpcError.from(thrown).message, { cause: thrown });
    if (!causedByAbort(thrown, exchange)) {
      this.#options.onerror(new Error(`${what} failed: ${error.message || error.name}`, { cause: thrown }));
    }
    if (this.#options.expose) return error;
    return new RpcError(ErrorCode.InternalError, `${what} failed with an internal error`, { cause: thrown });
  }
}

function isForCaller(thrown: unknown): thrown is Error {
  return isUserError(thrown) || isRpcError(thrown);
}

/** Whether a handler threw because its signal fired. This is not an error, and no caller waits. */
function causedByAbort(thrown: unknown, exchange: Exchange): boolean {
  if (!isAborted(exchange)) return false;
  const reason = abortReason(exchange);
  for (const each of errorChain(thrown)) if (each === reason) return true;
  return false;
}
