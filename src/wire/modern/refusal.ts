import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { McpErrorCode, RATE_LIMITED } from '../../protocol/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
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

/** What the code of a missing capability is answered with (2026-07-28, basic: Per-request protocol fields). */
export function missingCapabilityError(what: string, capability: string): RpcError {
  // `sampling.tools` is needed as { sampling: { tools: {} } }.
  const requiredCapabilities = capability.split('.').reduceRight<JsonObject>((inner, name) => ({ [name]: inner }), {});
  return new RpcError(
    McpErrorCode.MissingRequiredClientCapability,
    `${what} was not sent: the client did not declare the ${capability} capability`,
    { data: { requiredCapabilities } },
  );
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
