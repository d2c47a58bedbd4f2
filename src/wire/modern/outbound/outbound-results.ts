import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { MAY_ASK, Method } from '../../../protocol/methods.ts';

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
  if (type === 'input_required') return checkedQuestions(method, result);
  if (type === 'task' && tasks && method === Method.CallTool) return result;
  throw invalid(method, `of type ${JSON.stringify(type)}, which this client does not know`);
}

/** 2026-07-28, patterns/mrtr: Server Requirements. */
function checkedQuestions(method: string, result: JsonObject): JsonObject {
  const { inputRequests, requestState } = result;
  if (!MAY_ASK.has(method)) throw invalid(method, 'that asks for input, which this request has none of');
  if (inputRequests === undefined && requestState === undefined)
    throw invalid(method, 'that asks for input without saying for which');
  if (requestState !== undefined && typeof requestState !== 'string')
    throw invalid(method, 'whose "requestState" is no string');
  if (inputRequests !== undefined && !isObject(inputRequests))
    throw invalid(method, 'whose "inputRequests" is no object');
  for (const [key, question] of Object.entries<unknown>(inputRequests ?? {})) {
    const whole = isObject(question) && typeof question['method'] === 'string';
    if (!whole || (question['params'] !== undefined && !isObject(question['params'])))
      throw invalid(method, `that asks for input ${JSON.stringify(key)} without a request`);
  }
  return result;
}

function invalid(method: string, what: string): RpcError {
  return new RpcError(ErrorCode.InternalError, `The server answered ${method} with a result ${what}`);
}
