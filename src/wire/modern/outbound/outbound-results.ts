import { shortText, shortJson } from '../../../base/short-text.ts';
import { questionsOf } from '../../../core/rounds.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { CAN_REQUIRE_INPUT, Method } from '../../../protocol/methods.ts';

/**
 * Checks a result and returns it unchanged. A result of an unknown type is invalid. A result without a type is complete
 * (2026-07-28, basic: ResultType).
 *
 * @param tasks whether the tasks extension was declared. A tool may then return a task.
 * @throws RpcError −32603 with the reason.
 */
export function checkedResult(method: string, result: JsonObject, tasks: boolean): JsonObject {
  const type: unknown = result['resultType'];
  if (type === undefined || type === 'complete') return result;
  if (type === 'input_required') {
    if (!CAN_REQUIRE_INPUT.has(method)) throw invalid(method, 'that asks for input, which this method does not allow');
    questionsOf(method, result);
    return result;
  }
  if (type === 'task' && tasks && method === Method.CallTool) return result;
  throw invalid(method, `of type ${shortJson(type)}, which this client does not know`);
}

function invalid(method: string, what: string): RpcError {
  return new RpcError(ErrorCode.InternalError, `The server answered ${shortText(method)} with a result ${what}`);
}
