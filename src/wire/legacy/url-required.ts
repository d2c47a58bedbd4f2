import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import { MAY_ASK, Method } from '../../protocol/methods.ts';
import { REVISIONS } from '../../protocol/revisions.ts';

/**
 * A call of a caller of 2026-07-28 on a server of 2025-11-25, which says by an error that an address has to be visited
 * before the call is made again (2025-11-25, client/elicitation: URL Elicitation Required Error). To the caller the address
 * is a question like any other, and its next try is the call again.
 */
export function visitsFirst({ method, caller }: Exchange): boolean {
  return MAY_ASK.has(method) && REVISIONS[caller.revision].era === 'modern';
}

/**
 * The parameters of the call, without what the caller brought back from its visits.
 *
 * @throws RpcError −32600 where it made none; −32602 where it brings a state: a server with a handshake gives none, so it was
 * changed on its way, or is of a call that nobody remembers and that must not be made twice (2026-07-28,
 * basic/patterns/mrtr: Server Requirements).
 */
export function afterVisits(method: string, params: JsonObject): JsonObject {
  const { inputResponses, requestState, ...bare } = params;
  if (requestState !== undefined) {
    throw new RpcError(
      ErrorCode.InvalidParams,
      'Invalid params: "requestState" is of no request that is waiting for answers; call again without it',
    );
  }
  for (const answer of Object.values<unknown>(isObject(inputResponses) ? inputResponses : {})) {
    if (isObject(answer) && answer['action'] === 'accept') continue;
    throw new RpcError(ErrorCode.InvalidRequest, `${method} needs a visit to an address, which was declined`);
  }
  return inputResponses === undefined ? params : bare;
}

/** The questions that an error stands for; where it stands for none it is thrown on. */
export function visitsOf(error: unknown): JsonObject {
  if (!(error instanceof RpcError) || error.code !== McpErrorCode.UrlElicitationRequired) throw error;
  const elicitations: unknown = isObject(error.data) ? error.data['elicitations'] : undefined;
  const visits = (Array.isArray(elicitations) ? elicitations : []).filter(
    (each: unknown): each is JsonObject => isObject(each) && typeof each['url'] === 'string',
  );
  if (visits.length === 0) throw error;
  const questions = visits.map(({ url, message }, index): [string, JsonObject] => [
    `visit-${index + 1}`,
    {
      method: Method.Elicit,
      params: { mode: 'url', url, message: typeof message === 'string' ? message : error.message },
    },
  ]);
  return { resultType: 'input_required', inputRequests: Object.fromEntries(questions) };
}
