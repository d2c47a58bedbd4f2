import type { JsonObject } from '../jsonrpc/message.ts';
import { QUESTIONS } from '../protocol/methods.ts';

/** A question to the caller, as part of a result (2026-07-28, basic/patterns/mrtr: InputRequests). */
export type InputRequest =
  | { readonly method: 'elicitation/create' | 'sampling/createMessage'; readonly params: JsonObject }
  | { readonly method: 'roots/list'; readonly params?: JsonObject };

/** A handler returns this to be called again with answers (2026-07-28, basic/patterns/mrtr: InputRequiredResult). */
export interface InputRequiredResult {
  readonly resultType: 'input_required';
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  readonly requestState?: string;
}

/**
 * Asks the caller through a result, instead of `Context.elicit` and the other question methods. The handler ends with
 * this result, and this process keeps nothing. The handler is then called again: `Context.inputResponses` has the
 * answers, by the keys of `inputRequests`, and `Context.requestState` has the state. The state is sealed when it is
 * sent, and comes back unchanged from the same caller for the same request. So it may hold data that the caller must
 * not read or change. Callers of earlier revisions are asked while their request waits; the handler sees no difference.
 * Works in tools, prompts and resources only (2026-07-28, basic/patterns/mrtr: Supported Requests).
 *
 * @throws TypeError if there is neither a question nor a state, or if a question is of an unknown kind.
 */
export function inputRequired({
  inputRequests,
  requestState,
}: Omit<InputRequiredResult, 'resultType'>): InputRequiredResult {
  if (inputRequests === undefined && requestState === undefined)
    throw new TypeError('inputRequired needs inputRequests, requestState or both');
  for (const [key, { method }] of Object.entries(inputRequests ?? {})) {
    if (!QUESTIONS.has(method))
      throw new TypeError(`inputRequired: ${key} asks for ${method}, which is not a request that a client answers`);
  }
  if (requestState !== undefined && typeof requestState !== 'string')
    throw new TypeError('inputRequired: requestState must be a string');
  return {
    resultType: 'input_required',
    ...(inputRequests === undefined ? {} : { inputRequests }),
    ...(requestState === undefined ? {} : { requestState }),
  };
}
