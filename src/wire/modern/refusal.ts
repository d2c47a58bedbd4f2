import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { McpErrorCode, RATE_LIMITED } from '../../protocol/errors.ts';
import { MODERN_REVISIONS, REVISIONS } from '../../protocol/revisions.ts';
import { errorIn } from '../errors.ts';

/** A request that never reaches the service. Over HTTP its status is 400. */
export class Refusal extends RpcError {
  static params(why: string): Refusal {
    return new Refusal(ErrorCode.InvalidParams, `Invalid params: ${why}`);
  }

  static header(why: string): Refusal {
    return new Refusal(McpErrorCode.HeaderMismatch, `Header mismatch: ${why}`);
  }
}

/** An error as this revision says it: codes of earlier ones MUST NOT be emitted (2026-07-28, basic: Error Codes). */
export function modernError(thrown: unknown): RpcError {
  return errorIn(thrown, REVISIONS[MODERN_REVISIONS[0]!]);
}

/** The HTTP status of an error, where the answer is no stream yet (2026-07-28, transports: Streamable HTTP). */
export function statusOf(error: RpcError): number {
  if (error instanceof Refusal) return 400;
  switch (error.code) {
    case ErrorCode.MethodNotFound:
      return 404;
    case McpErrorCode.HeaderMismatch:
    case McpErrorCode.MissingRequiredClientCapability:
    case McpErrorCode.UnsupportedProtocolVersion:
      return 400;
    case RATE_LIMITED:
      return 429;
    default:
      return 200;
  }
}
