import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { McpErrorCode } from '../protocol/errors.ts';

/**
 * An error about a request itself: its method, its headers, its revision or the fields that every request has. It is made
 * before any handler runs. Over HTTP it has a status of its own, which an error with the same code from a handler has not.
 */
export class Refusal extends RpcError {
  static params(why: string): Refusal {
    return new Refusal(ErrorCode.InvalidParams, `Invalid params: ${why}`);
  }

  static header(why: string): Refusal {
    return new Refusal(McpErrorCode.HeaderMismatch, `Header mismatch: ${why}`);
  }

  /** @param why beside the name of the method. */
  static method(method: string, why = ''): Refusal {
    return new Refusal(ErrorCode.MethodNotFound, `Method not found: ${method}${why}`);
  }
}
