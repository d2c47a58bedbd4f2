import { quoting } from '../base/short-text.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { canonicalJson } from '../jsonrpc/shape.ts';
import { comparable } from './comparable.ts';
import type { Question } from './session-requests.ts';

/** The answers of a recorded client to the questions of its server. Each is given once. */
export class RecordedAnswers {
  readonly #left: Question[];

  constructor(questions: readonly Question[]) {
    this.#left = questions.filter(({ answer }) => answer !== undefined);
  }

  /**
   * The answer to a question: the recorded one to the same question, or else to the next one of the same method.
   *
   * @param first the questions of the request that asks. They come before others.
   * @throws RpcError the recorded error, or that the recording has no answer.
   */
  answer(method: string, params: JsonObject, first: readonly Question[] = []): JsonObject {
    const own = this.#left.filter((each) => first.includes(each));
    const others = this.#left.filter((each) => !first.includes(each));
    const all = [...own, ...others].filter((each) => each.method === method);
    const wanted = canonicalJson(comparable(params));
    const found = all.find((each) => canonicalJson(comparable(each.params)) === wanted) ?? all[0];
    if (!found) throw new RpcError(ErrorCode.InternalError, quoting`The recording has no answer to ${method}`);
    this.#left.splice(this.#left.indexOf(found), 1);
    const answer = found.answer!;
    if ('result' in answer) return answer.result;
    const { code, message, data } = answer.error;
    throw new RpcError(code, message, { data });
  }
}
