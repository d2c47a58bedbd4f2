import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import type { Caller } from '../../../core/exchange.ts';
import { missingCapability } from '../../../protocol/capabilities.ts';
import { McpErrorCode } from '../../../protocol/errors.ts';
import { QUESTIONS } from '../../../protocol/methods.ts';
import { REVISIONS } from '../../../protocol/revisions.ts';

/**
 * Checks that a caller can be asked this question.
 *
 * @throws RpcError −32601 if its revision has no such method, −32021 if it did not declare the required capability.
 */
export function checkQuestion(method: string, params: JsonObject, { capabilities, revision }: Caller): void {
  if (!QUESTIONS.has(method)) {
    const message = `${method} was not sent: a client of ${revision} has no such method`;
    throw new RpcError(ErrorCode.MethodNotFound, message);
  }
  const missing = missingCapability(method, params, capabilities, REVISIONS[revision]);
  if (missing !== undefined) throw undeclared(method, missing);
}

/** 2026-07-28, basic: Per-request protocol fields. */
function undeclared(method: string, capability: string): RpcError {
  // `sampling.tools` is required as { sampling: { tools: {} } }.
  const requiredCapabilities = capability.split('.').reduceRight<JsonObject>((inner, name) => ({ [name]: inner }), {});
  return new RpcError(
    McpErrorCode.MissingRequiredClientCapability,
    `${method} was not sent: the client did not declare the ${capability} capability`,
    { data: { requiredCapabilities } },
  );
}
