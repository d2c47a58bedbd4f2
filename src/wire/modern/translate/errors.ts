import { Refusal } from '../../../core/refusal.ts';
import { UNAVAILABLE, Unavailable } from '../../../core/unavailable.ts';
import { ErrorCode, type RpcError } from '../../../jsonrpc/errors.ts';
import { McpErrorCode, RATE_LIMITED } from '../../../protocol/errors.ts';
import { CAN_REQUIRE_INPUT, Method } from '../../../protocol/methods.ts';
import { MODERN_REVISIONS, REVISIONS } from '../../../protocol/revisions.ts';
import { errorIn } from '../../errors.ts';

/** Methods that handlers answer. A handler may throw any code. */
const RUNS_HANDLERS: ReadonlySet<string> = new Set([...CAN_REQUIRE_INPUT, Method.Complete]);

/**
 * An error in the form of this revision, which MUST NOT use codes of earlier revisions (2026-07-28, basic: Error
 * Codes).
 */
export function modernError(thrown: unknown): RpcError {
  return errorIn(thrown, REVISIONS[MODERN_REVISIONS[0]!]);
}

/**
 * The HTTP status of an error, if the answer is not a stream yet (2026-07-28, transports: Streamable HTTP). An error that a
 * handler throws or a bridge passes on is an ordinary answer with status 200, whatever its code.
 */
export function statusOf(error: RpcError, method: string): number {
  if (error instanceof Unavailable) return UNAVAILABLE;
  if (error instanceof Refusal) return error.code === ErrorCode.MethodNotFound ? 404 : 400;
  switch (error.code) {
    // Other services, such as a bridge, report a missing method by this code alone (Protocol Version Header). If a handler
    // may have thrown it, the method exists.
    case ErrorCode.MethodNotFound:
      return RUNS_HANDLERS.has(method) ? 200 : 404;
    // Status 400 is required, whichever part throws this (2026-07-28, basic: _meta).
    case McpErrorCode.MissingRequiredClientCapability:
      return 400;
    case RATE_LIMITED:
      return 429;
    default:
      return 200;
  }
}
