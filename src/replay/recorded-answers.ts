import { quoting } from '../base/short-text.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { canonicalJson } from '../jsonrpc/shape.ts';
import { comparable } from './comparable.ts';
import type { Question, ServerMessage } from './session-requests.ts';

/** The answers of a recorded client to the questions of its server. Each is given once. */
export class RecordedAnswers {
  /** Those that were not given, with the canonical texts of their questions. A recording may have many thousands. */
  readonly #left = new Map<Question, string>();

  constructor(questions: readonly Question[]) {
    for (const each of questions) if (each.answer !== undefined) this.#left.set(each, textOf(each));
  }

  /**
   * The answer to a question: the recorded one to the same question, or else to the next one of the same method.
   *
   * @param first the questions of the request that asks. They come before others.
   * @throws RpcError the recorded error, or that the recording has no answer.
   */
  answer(method: string, params: JsonObject, first: readonly Question[] = []): JsonObject {
    const wanted = textOf({ method, params });
    const own = first.filter((each) => this.#left.has(each));
    const all = [...own, ...this.#left.keys()].filter((each) => each.method === method);
    const found = all.find((each) => this.#left.get(each) === wanted) ?? all[0];
    if (!found) throw new RpcError(ErrorCode.InternalError, quoting`The recording has no answer to ${method}`);
    this.#left.delete(found);
    const answer = found.answer!;
    if ('result' in answer) return answer.result;
    const { code, message, data } = answer.error;
    throw new RpcError(code, message, { data });
  }
}

function textOf({ method, params }: ServerMessage): string {
  return `${method} ${canonicalJson(comparable(params))}`;
}
