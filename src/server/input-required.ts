import type { JsonObject } from '../jsonrpc/message.ts';
import { QUESTIONS } from '../protocol/methods.ts';

/** A question to the caller, as a result carries it (2026-07-28, basic/patterns/mrtr: InputRequests). */
export type InputRequest =
  | { readonly method: 'elicitation/create' | 'sampling/createMessage'; readonly params: JsonObject }
  | { readonly method: 'roots/list'; readonly params?: JsonObject };

/** What a handler returns to be called again with more (2026-07-28, basic/patterns/mrtr: InputRequiredResult). */
export interface InputRequiredResult {
  readonly resultType: 'input_required';
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  readonly requestState?: string;
}

/**
 * Asks the caller by a result instead of by `Context.elicit` and its like: the handler is over with it, nothing is kept
 * in this process, and the handler is called anew with `Context.inputResponses`, the answers by the keys of
 * `inputRequests`, and `Context.requestState`. The state is sealed on its way out and comes back as it was, to the same
 * caller and the same request only, so it may hold what the caller must not read or change. Callers of earlier
 * revisions are asked while they wait; to the handler it is the same. Of tools, prompts and resources alone
 * (2026-07-28, basic/patterns/mrtr: Supported Requests).
 *
 * @throws TypeError where there is neither a question nor a state, or a question that MCP does not know.
 */
export function inputRequired({
  inputRequests,
  requestState,
}: Omit<InputRequiredResult, 'resultType'>): InputRequiredResult {
  if (inputRequests === undefined && requestState === undefined)
    throw new TypeError('inputRequired needs inputRequests, requestState or both');
  for (const [key, { method }] of Object.entries(inputRequests ?? {})) {
    if (!QUESTIONS.has(method)) throw new TypeError(`inputRequired: ${key} asks for ${method}, which is no question`);
  }
  if (requestState !== undefined && typeof requestState !== 'string')
    throw new TypeError('inputRequired: requestState must be a string');
  return {
    resultType: 'input_required',
    ...(inputRequests === undefined ? {} : { inputRequests }),
    ...(requestState === undefined ? {} : { requestState }),
  };
}
