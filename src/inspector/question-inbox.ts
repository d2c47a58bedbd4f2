import { Deferred } from '../base/deferred.ts';
import { filledIn } from '../client/form-answer.ts';
import { CommandRefused } from '../inspect/page-server/command-refused.ts';
import type { AnswerCommand, Question } from '../inspect/page-server/page-api.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';

/**
 * The most questions that may wait for the user. Each change of the state repeats them, so their size is limited too.
 */
const MAX_QUESTIONS = 100;
/** The most bytes of all waiting questions, estimated, and the most characters of their JSON text. */
const MAX_SIZE = 16 * 1024 * 1024;
/** The error code if the user refuses (2025-11-25, client/sampling: Error Handling). */
const REJECTED = -1;

interface Waiting {
  readonly question: Question;
  readonly size: number;
  readonly answer: Deferred<JsonObject>;
}

/** The questions of a server that wait for the user. */
export class QuestionInbox {
  readonly #onchange: (questions: readonly Question[]) => void;
  readonly #waiting = new Map<number, Waiting>();
  #size = 0;
  #last = 0;

  constructor(onchange: (questions: readonly Question[]) => void) {
    this.#onchange = onchange;
  }

  /**
   * Waits for the user's answer. When the signal fires, the question is withdrawn.
   *
   * @throws RpcError if the user refuses, or if too many questions wait.
   */
  ask(method: Question['method'], params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (this.#waiting.size >= MAX_QUESTIONS) throw tooMany();
    const size = sizeOf(params);
    if (this.#size + size > MAX_SIZE) throw tooMany();
    this.#last += 1;
    const question: Question = { id: this.#last, method, params, received: new Date().toISOString() };
    const answer = new Deferred<JsonObject>();
    const withdraw = (): void => this.#remove(question.id)?.answer.reject(signal.reason as Error);
    const settled = (): void => signal.removeEventListener('abort', withdraw);
    signal.addEventListener('abort', withdraw);
    answer.promise.then(settled, settled);
    this.#waiting.set(question.id, { question, size, answer });
    this.#size += size;
    this.#changed();
    return answer.promise;
  }

  /** @throws CommandRefused if the answer does not fit the question. The question then still waits. */
  async answer({ question: id, result, error }: AnswerCommand): Promise<void> {
    if ((result === undefined) === (error === undefined))
      throw new CommandRefused(400, 'An answer must be either a result or an error.');
    if (result) await check(this.#get(id).question, result);
    const { answer } = this.#get(id);
    this.#remove(id);
    if (result) answer.resolve(result);
    else answer.reject(new RpcError(REJECTED, error!.message));
  }

  #get(id: number): Waiting {
    const waiting = this.#waiting.get(id);
    if (!waiting) throw new CommandRefused(409, 'The question was answered or withdrawn.');
    return waiting;
  }

  #remove(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (!waiting) return undefined;
    this.#waiting.delete(id);
    this.#size -= waiting.size;
    this.#changed();
    return waiting;
  }

  #changed(): void {
    this.#onchange([...this.#waiting.values()].map(({ question }) => question));
  }
}

function tooMany(): RpcError {
  return new RpcError(ErrorCode.InternalError, 'Too many questions wait for an answer');
}

/** In JSON, a character that must be escaped is six characters. Each state has them. */
function sizeOf(params: JsonObject): number {
  const weight = weightOf(params, MAX_SIZE);
  return weight > MAX_SIZE ? weight : Math.max(weight, JSON.stringify(params).length);
}

async function check({ method, params }: Question, result: JsonObject): Promise<void> {
  try {
    if (method === 'sampling/createMessage') {
      if (typeof result['role'] !== 'string' || typeof result['model'] !== 'string' || !result['content'])
        throw new TypeError('A message must have role, content and model');
    } else if (!['accept', 'decline', 'cancel'].includes(result['action'] as string))
      throw new TypeError('action must be accept, decline or cancel');
    else if (result['action'] === 'accept' && params['mode'] !== 'url')
      await filledIn(params['requestedSchema'] as JsonObject, result['content']);
  } catch (error) {
    throw new CommandRefused(400, (error as Error).message, { cause: error });
  }
}
