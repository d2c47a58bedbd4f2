import { quoting } from '../../../base/short-text.ts';
import type { Exchange } from '../../../core/exchange.ts';
import { checkQuestionCount } from '../../../core/rounds.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { McpErrorCode } from '../../../protocol/errors.ts';
import { CAN_REQUIRE_INPUT, Method } from '../../../protocol/methods.ts';
import { REVISIONS } from '../../../protocol/revisions.ts';

/** How much of the error's message each URL without a message of its own repeats, in characters. */
const MAX_MESSAGE = 1000;

/**
 * Whether a call needs the URL elicitation conversion: its caller speaks 2026-07-28 and its server 2025-11-25. Such a
 * server answers with an error if a URL must be visited before the call is repeated (2025-11-25, client/elicitation:
 * URL Elicitation Required Error). The caller gets the URL as an ordinary question, and its retry repeats the call.
 */
export function needsUrlElicitation({ method, caller }: Exchange): boolean {
  return CAN_REQUIRE_INPUT.has(method) && REVISIONS[caller.revision].era === 'modern';
}

/**
 * Removes the caller's answers to URL elicitations from the parameters of the call.
 *
 * @throws RpcError −32600 if the caller opened none of the URLs. −32602 if the caller sends a `requestState`: a legacy
 * server issues none, so either the state was changed, or its call is no longer known and must not run twice
 * (2026-07-28, basic/patterns/mrtr: Server Requirements).
 */
export function withoutUrlAnswers(method: string, params: JsonObject): JsonObject {
  const { inputResponses, requestState, ...bare } = params;
  if (requestState !== undefined) {
    throw new RpcError(
      ErrorCode.InvalidParams,
      'Invalid params: "requestState" belongs to no request that waits for answers; call again without it',
    );
  }
  for (const answer of Object.values<unknown>(isObject(inputResponses) ? inputResponses : {})) {
    if (isObject(answer) && answer['action'] === 'accept') continue;
    throw new RpcError(
      ErrorCode.InvalidRequest,
      quoting`${method} requires the user to open a URL, which was declined`,
    );
  }
  return inputResponses === undefined ? params : bare;
}

/**
 * The URL questions in an error of a call. Rethrows any other error.
 *
 * @throws RpcError −32603 if there are more than 1000: each may repeat the message of the error.
 */
export function urlQuestionsOf(error: unknown, method: string): JsonObject {
  if (!(error instanceof RpcError) || error.code !== McpErrorCode.UrlElicitationRequired) throw error;
  const elicitations: unknown = isObject(error.data) ? error.data['elicitations'] : undefined;
  const visits = (Array.isArray(elicitations) ? elicitations : []).filter(
    (each: unknown): each is JsonObject => isObject(each) && typeof each['url'] === 'string',
  );
  if (visits.length === 0) throw error;
  checkQuestionCount(method, visits.length);
  const questions = visits.map(({ url, message }, index): [string, JsonObject] => [
    `visit-${index + 1}`,
    {
      method: Method.Elicit,
      params: {
        mode: 'url',
        url,
        message: typeof message === 'string' ? message : error.message.slice(0, MAX_MESSAGE),
      },
    },
  ]);
  return { resultType: 'input_required', inputRequests: Object.fromEntries(questions) };
}
