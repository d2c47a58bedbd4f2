import { shortText } from '../base/short-text.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { McpErrorCode } from '../protocol/errors.ts';

/**
 * An error in the request itself: in its method, headers, revision or common fields. It is thrown before any handler
 * runs. Over HTTP it has status 400 or 404. An error with the same code from a handler has status 200.
 */
export class Refusal extends RpcError {
  static params(why: string): Refusal {
    return new Refusal(ErrorCode.InvalidParams, `Invalid params: ${why}`);
  }

  static header(why: string): Refusal {
    return new Refusal(McpErrorCode.HeaderMismatch, `Header mismatch: ${why}`);
  }

  /** @param why follows the name of the method. */
  static method(method: string, why = ''): Refusal {
    return new Refusal(ErrorCode.MethodNotFound, `Method not found: ${shortText(method)}${why}`);
  }
}
