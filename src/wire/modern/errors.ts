import { Refusal } from '../../core/refusal.ts';
import { ErrorCode, type RpcError } from '../../jsonrpc/errors.ts';
import { McpErrorCode, RATE_LIMITED } from '../../protocol/errors.ts';
import { MAY_ASK, Method } from '../../protocol/methods.ts';
import { MODERN_REVISIONS, REVISIONS } from '../../protocol/revisions.ts';
import { errorIn } from '../errors.ts';

/** Methods whose answers come from handlers, which may throw any code. */
const RUNS_HANDLERS: ReadonlySet<string> = new Set([...MAY_ASK, Method.Complete]);

/** An error as this revision says it: codes of earlier ones MUST NOT be emitted (2026-07-28, basic: Error Codes). */
export function modernError(thrown: unknown): RpcError {
  return errorIn(thrown, REVISIONS[MODERN_REVISIONS[0]!]);
}

/**
 * The HTTP status of an error, where the answer is no stream yet (2026-07-28, transports: Streamable HTTP). What a handler
 * throws, or a bridge passes on, is an answer like others, whatever its code: 200.
 */
export function statusOf(error: RpcError, method: string): number {
  if (error instanceof Refusal) return error.code === ErrorCode.MethodNotFound ? 404 : 400;
  switch (error.code) {
    // A service that is none of ours, or is a remote server's, says by its code alone that it does not have a method
    // (Protocol Version Header). Where a handler may have thrown the code, the method is there.
    case ErrorCode.MethodNotFound:
      return RUNS_HANDLERS.has(method) ? 200 : 404;
    // Whoever throws it (2026-07-28, basic: _meta).
    case McpErrorCode.MissingRequiredClientCapability:
      return 400;
    case RATE_LIMITED:
      return 429;
    default:
      return 200;
  }
}
