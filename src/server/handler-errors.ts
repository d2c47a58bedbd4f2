import { quoting, shortText } from '../base/short-text.ts';
import { abortReason, isAborted } from '../core/base-exchange.ts';
import type { Exchange } from '../core/exchange.ts';
import { errorChain } from '../jsonrpc/error-chain.ts';
import { ErrorCode, isRpcError, RpcError } from '../jsonrpc/errors.ts';
import { isUserError } from './user-error.ts';

/**
 * Returns the error for the caller of a handler that threw.
 *
 * @param what the name of what failed, such as a tool or a method.
 */
export type ErrorsForCallers = (thrown: unknown, what: string, exchange: Exchange) => Error;

/**
 * Decides which errors of handlers and middleware a caller sees. A `UserError` or `RpcError` reaches the caller
 * unchanged. Any other error may contain paths, addresses or queries: it goes to `onerror`, and the caller gets an
 * internal error.
 *
 * @param expose whether callers see every error unchanged.
 */
export function errorsForCallers(expose: boolean, onerror: (error: Error) => void): ErrorsForCallers {
  return (thrown, what, exchange) => {
    if (isUserError(thrown) || isRpcError(thrown)) return thrown;
    const error = thrown instanceof Error ? thrown : new Error(RpcError.from(thrown).message, { cause: thrown });
    if (!causedByAbort(thrown, exchange)) {
      onerror(new Error(`${shortText(what)} failed: ${error.message || error.name}`, { cause: thrown }));
    }
    if (expose) return error;
    return new RpcError(ErrorCode.InternalError, quoting`${what} failed with an internal error`, { cause: thrown });
  };
}

/**
 * Runs the handler of a prompt or a resource. These have no failed results, as tools have, so what the caller did wrong is
 * an error of its parameters (2025-11-25, server/prompts: Error Handling).
 *
 * @throws RpcError −32602 if the handler throws a `UserError`; and the handler's other errors.
 */
export async function invalidParams(handler: () => unknown): Promise<unknown> {
  try {
    return await handler();
  } catch (thrown) {
    if (!isUserError(thrown)) throw thrown;
    throw new RpcError(ErrorCode.InvalidParams, thrown.message, { cause: thrown });
  }
}

/** Whether a handler threw because its signal fired. Then no caller waits, so this is not an error. */
function causedByAbort(thrown: unknown, exchange: Exchange): boolean {
  if (!isAborted(exchange)) return false;
  const reason = abortReason(exchange);
  for (const each of errorChain(thrown)) if (each === reason) return true;
  return false;
}
