import { allowManyListeners } from '../base/many-listeners.ts';
import { quoting, shortJson, shortText } from '../base/short-text.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { derive } from './derive.ts';
import type { Exchange, Service } from './exchange.ts';

/** Limits of `completeRounds`. */
export interface RoundsOptions {
  /** How many rounds of questions one request may have before it fails. Default 16. */
  readonly maxRounds?: number;
}

/** Maximum number of questions in one result. */
const MAX_QUESTIONS = 1000;

/** A result that asks the caller for input (2026-07-28, basic/patterns/mrtr). */
export type InputRequired = JsonObject & { readonly resultType: 'input_required' };

/** Whether a result asks the caller for input. */
export function needsInput(result: unknown): result is InputRequired {
  return isObject(result) && result['resultType'] === 'input_required';
}

/**
 * Completes a result: sends its questions on the live exchange and calls the service again with the answers, until the
 * result is complete (2026-07-28, basic/patterns/mrtr). For callers that can answer questions during a call.
 *
 * @throws RpcError −32603 after `maxRounds` rounds, or if a round has more than 1000 questions, or neither a question nor
 * a state.
 */
export async function completeRounds(
  next: Service,
  exchange: Exchange,
  first: JsonObject,
  { maxRounds = 16 }: RoundsOptions = {},
): Promise<JsonObject> {
  let result = first;
  for (let round = 0; needsInput(result); round += 1) {
    if (round === maxRounds) {
      throw new RpcError(
        ErrorCode.InternalError,
        quoting`${exchange.method} asked for input ${maxRounds} times and is still not complete`,
      );
    }
    result = await next(await answered(exchange, result));
  }
  return result;
}

/** A question of a result that needs input. */
export interface InputRequest {
  readonly key: string;
  readonly method: string;
  readonly params: JsonObject;
}

/**
 * The questions of a result that needs input (2026-07-28, basic/patterns/mrtr: Server Requirements).
 *
 * @throws RpcError −32603 if they are malformed, or there are neither questions nor a state.
 */
export function questionsOf(method: string, { inputRequests = {}, requestState }: JsonObject): InputRequest[] {
  const invalid = (what: string): RpcError =>
    new RpcError(ErrorCode.InternalError, `${shortText(method)} asked for input ${what}`);
  if (!isObject(inputRequests)) throw invalid('with "inputRequests" that is not an object');
  if (requestState !== undefined && typeof requestState !== 'string')
    throw invalid('with a "requestState" that is not a string');
  const entries = Object.entries<unknown>(inputRequests);
  if (entries.length === 0 && requestState === undefined) throw invalid('without "inputRequests" or "requestState"');
  return entries.map(([key, question]) => {
    const { method: asked, params = {} } = isObject(question) ? question : {};
    if (typeof asked !== 'string') throw invalid(`${shortJson(key)} without a method`);
    if (!isObject(params)) throw invalid(`${shortJson(key)} with "params" that is not an object`);
    return { key, method: asked, params };
  });
}

/** @throws RpcError −32603 if a result has more than 1000 questions. */
export function checkQuestionCount(method: string, count: number): void {
  if (count <= MAX_QUESTIONS) return;
  throw new RpcError(
    ErrorCode.InternalError,
    quoting`${method} asked ${count} questions at once, but the limit is ${MAX_QUESTIONS}; none was sent`,
  );
}

async function answered(exchange: Exchange, result: JsonObject): Promise<Exchange> {
  const questions = questionsOf(exchange.method, result);
  checkQuestionCount(exchange.method, questions.length);
  const others = new AbortController();
  allowManyListeners(others.signal);
  const answers = await Promise.all(
    questions.map(async ({ key, method, params }) => {
      return [key, await exchange.ask(method, params, { signal: others.signal, key })] as const;
    }),
  ).catch((error: unknown) => {
    // The request has failed, so cancel its other questions.
    others.abort(new RpcError(ErrorCode.InternalError, 'Another question of the same request failed'));
    throw error;
  });
  const params: JsonObject = { ...exchange.params, inputResponses: Object.fromEntries(answers) };
  // Return requestState unchanged, and only if the last result had one.
  delete params['requestState'];
  if (result['requestState'] !== undefined) params['requestState'] = result['requestState'];
  return derive(exchange, { params });
}
