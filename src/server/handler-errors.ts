import { abortReason, isAborted } from '../core/abortable.ts';
import type { Exchange } from '../core/exchange.ts';
import { causesOf } from '../jsonrpc/causes.ts';
import { ErrorCode, isRpcError, RpcError } from '../jsonrpc/errors.ts';
import { UserError } from './user-error.ts';

export interface HandlerErrorsOptions {
  /** Whether callers are told of every error. */
  readonly expose: boolean;
  readonly onerror: (error: Error) => void;
}

/**
 * What becomes of an error that a handler, or middleware, throws. One that is meant for the caller goes there as it is. Any
 * other may say what is nobody's business: paths, addresses, queries. It goes to `onerror`, and the caller is told that
 * there was one.
 */
export class HandlerErrors {
  readonly #options: HandlerErrorsOptions;

  constructor(options: HandlerErrorsOptions) {
    this.#options = options;
  }

  /**
   * The error for the caller; reports it where it is not meant for the caller.
   *
   * @param what failed: a tool, a method.
   */
  told(thrown: unknown, what: string, exchange: Exchange): Error {
    if (isForCaller(thrown)) return thrown;
    const error = thrown instanceof Error ? thrown : new Error(RpcError.from(thrown).message, { cause: thrown });
    if (!isItsEnd(thrown, exchange)) {
      this.#options.onerror(new Error(`${what} failed: ${error.message || error.name}`, { cause: thrown }));
    }
    if (this.#options.expose) return error;
    return new RpcError(ErrorCode.InternalError, `${what} failed with an internal error`, { cause: thrown });
  }
}

function isForCaller(thrown: unknown): thrown is Error {
  return thrown instanceof UserError || isRpcError(thrown);
}

/** Whether this is how a handler ends that obeys its signal: nobody waits for it, and nothing is wrong. */
function isItsEnd(thrown: unknown, exchange: Exchange): boolean {
  if (!isAborted(exchange)) return false;
  const reason = abortReason(exchange);
  for (const each of causesOf(thrown)) if (each === reason) return true;
  return false;
}
