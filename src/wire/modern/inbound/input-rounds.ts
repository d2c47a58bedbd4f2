import { Deferred } from '../../../base/deferred.ts';
import { shortText, shortJson } from '../../../base/short-text.ts';
import { Refusal } from '../../../core/refusal.ts';
import { randomUUID } from 'node:crypto';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { NotAsked, type AskOptions } from '../../../core/exchange.ts';
import { Method } from '../../../protocol/methods.ts';
import { weightOf } from '../../../jsonrpc/weight.ts';
import { checkAnswer } from '../../../core/questions.ts';
import { digest } from './digest.ts';
import type { ModernExchange, Round } from './exchange.ts';
import type { SuspendedRequest, SuspendedRequests } from './suspended-requests.ts';
import type { RequestState } from './sealed-state.ts';

/** What the state tells about earlier rounds, if another process asked the questions. */
export interface Recollection {
  /** Answers by question key, each with the digest of its question. */
  readonly answers: ReadonlyMap<string, readonly [digest: string, answer: JsonObject]>;
}

interface Question {
  readonly method: string;
  readonly params: JsonObject;
  readonly digest: string;
  /** See `AskOptions`. */
  readonly outlivesRequest: boolean;
  readonly answer: Deferred<JsonObject>;
}

/** Sends the open questions to the caller as the response to its request. */
export type Inquirer = (rounds: InputRounds, questions: JsonObject) => void;

/**
 * The largest record that travels with the caller, in characters. If a record is larger, no other process can resume
 * the request.
 */
const MAX_RECORD = 64 * 1024;

const NAMES: Readonly<Record<string, string>> = {
  [Method.Elicit]: 'elicitation',
  [Method.CreateMessage]: 'sampling',
  [Method.ListRoots]: 'roots',
};

/**
 * The questions and answers of one exchange. Questions that are asked in one turn of the event loop go out together.
 * Then the exchange waits, without a request, until its caller retries with answers (2026-07-28, patterns/mrtr).
 */
export class InputRounds implements SuspendedRequest {
  readonly id = randomUUID();
  readonly exchange: ModernExchange;
  readonly principal: string | undefined;
  readonly address: string | undefined;
  readonly #requestBytes: number;
  #answerBytes = 0;
  /** The size of the questions that were sent last, in bytes. */
  #questionBytes = 0;
  /** How many times questions were sent. A `requestState` is valid only for the newest round. */
  round = 0;
  readonly #suspended: SuspendedRequests<InputRounds>;
  readonly #inquire: Inquirer;
  readonly #recollection: Recollection | undefined;
  readonly #open = new Map<string, Question>();
  readonly #answered = new Map<string, readonly [digest: string, answer: JsonObject]>();
  #count = 0;
  #scheduled = false;
  /** Answers the caller's next request at once. Set if the handler finished while no request was open. */
  #outcome: (() => void) | undefined;

  constructor(
    exchange: ModernExchange,
    suspended: SuspendedRequests<InputRounds>,
    inquire: Inquirer,
    recollection: Recollection | undefined,
  ) {
    this.exchange = exchange;
    const { extra } = exchange.round ?? {};
    this.principal = exchange.caller.principal;
    this.address = extra?.address;
    this.#requestBytes = extra?.bytes ?? 0;
    this.#suspended = suspended;
    this.#inquire = inquire;
    this.#recollection = recollection;
  }

  /**
   * The approximate size of the request, the answers so far and the questions, in bytes. It does not change while the
   * exchange is suspended.
   */
  get bytes(): number {
    return this.#requestBytes + this.#answerBytes + this.#questionBytes;
  }

  ask(
    method: string,
    params: JsonObject,
    { key: given, signal, outlivesRequest = false }: AskOptions = {},
  ): Promise<JsonObject> {
    const key = given ?? this.#name(method);
    if (this.#open.has(key) || this.#answered.has(key)) {
      const message = `${shortText(method)} was not asked: the request has another question named ${shortJson(key)}`;
      return Promise.reject(new RpcError(ErrorCode.InternalError, message));
    }
    const asked = digest(method, params);
    const known = this.#recollection?.answers.get(key);
    if (known?.[0] === asked) {
      try {
        checkAnswer(key, method, known[1]);
      } catch (error) {
        return Promise.reject(error);
      }
      this.#answered.set(key, known);
      return Promise.resolve(known[1]);
    }
    const answer = new Deferred<JsonObject>();
    const withdraw = (): void => {
      if (this.#open.delete(key)) answer.reject(signal!.reason);
    };
    const settled = (): void => signal?.removeEventListener('abort', withdraw);
    signal?.addEventListener('abort', withdraw);
    answer.promise.then(settled, settled);
    this.#open.set(key, { method, params, digest: asked, outlivesRequest, answer });
    this.#schedule();
    return answer.promise;
  }

  /**
   * Continues with the caller's next request. Only called while the exchange is suspended.
   *
   * @throws Refusal if the state does not belong to the newest round, or if an answer does not fit its question.
   * Nothing has changed then.
   */
  resume(round: Round, number: number | undefined, responses: JsonObject): void {
    if (number !== this.round) {
      throw Refusal.params('"requestState" belongs to a round that has already been answered');
    }
    // Answers to other questions are ignored (2026-07-28, patterns/mrtr: Error Handling).
    const answers = [...this.#open].filter(([key]) => Object.hasOwn(responses, key));
    for (const [key, { method }] of answers) checkAnswer(key, method, responses[key]);
    this.#suspended.delete(this);
    // The bytes beyond those of the first round count as answers, which are kept. To weigh each answer would take too long.
    if (answers.length > 0) this.#answerBytes += Math.max(0, (round.extra?.bytes ?? 0) - this.#requestBytes);
    this.exchange.resume(round);
    for (const [key, question] of answers) {
      this.#open.delete(key);
      this.#answered.set(key, [question.digest, responses[key]]);
      question.answer.resolve(responses[key]);
    }
    if (this.#outcome) {
      this.#returnQuestions();
      return this.#outcome();
    }
    // Questions without an answer are asked again, unless the handler can continue without the answers.
    this.#schedule();
  }

  /**
   * The handler has finished. Returns whether the exchange is suspended. If so, the outcome waits for the caller's
   * retry.
   */
  finish(outcome: () => void): boolean {
    const isSuspended = !this.exchange.round && !this.exchange.ended;
    // When the caller retries to get the outcome, it may still answer a question of another call.
    this.#returnQuestions((question) => !(isSuspended && question.outlivesRequest));
    if (!isSuspended) return false;
    this.#outcome = outcome;
    return true;
  }

  /** Ends the exchange because no caller waits for it any more. */
  abort(reason: Error): void {
    this.exchange.abort(reason);
  }

  /** The exchange is over. */
  end(reason: Error): void {
    this.#suspended.delete(this);
    this.#dismiss(reason);
  }

  /**
   * The state that the caller sends back with its retry.
   *
   * @param replayable whether another process may resume the request.
   */
  state(replayable: boolean): RequestState {
    const base = { exchange: this.id, round: this.round };
    if (!replayable) return base;
    const record: JsonObject = {
      answers: Object.fromEntries(this.#answered),
      open: Object.fromEntries([...this.#open].map(([key, question]) => [key, question.digest])),
    };
    const { noted } = this.exchange;
    const state = { ...base, record, ...(noted && noted.size > 0 ? { notes: [...noted] } : {}) };
    return fitsInRequest(state) ? state : base;
  }

  #name(method: string): string {
    let key: string;
    do key = `${NAMES[method] ?? 'question'}-${++this.#count}`;
    while (this.#open.has(key) || this.#answered.has(key));
    return key;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Wait for the other questions and decisions of this turn of the event loop.
    setImmediate(() => {
      this.#scheduled = false;
      this.#sendQuestions();
    });
  }

  #sendQuestions(): void {
    if (this.#open.size === 0 || !this.exchange.round) return;
    this.#questionBytes = 0;
    for (const { params } of this.#open.values()) this.#questionBytes += weightOf(params);
    try {
      this.#suspended.add(this);
    } catch (error) {
      return this.#dismiss(error as Error);
    }
    this.round += 1;
    const questions = [...this.#open].map(([key, { method, params }]) => [key, { method, params }] as const);
    this.#inquire(this, Object.fromEntries(questions));
  }

  /** Rejects open questions with an error that allows asking them through another call. */
  #returnQuestions(which: (question: Question) => boolean = () => true): void {
    for (const [key, question] of [...this.#open]) {
      if (!which(question)) continue;
      this.#open.delete(key);
      question.answer.reject(new NotAsked(question.method, this.exchange.method));
    }
  }

  #dismiss(reason: Error): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { answer } of open) answer.reject(reason);
  }
}

/** Whether a state is small enough to send to the caller, and not too deeply nested to be written. */
function fitsInRequest(state: RequestState): boolean {
  try {
    return JSON.stringify(state).length <= MAX_RECORD;
  } catch {
    return false;
  }
}

/** Reads earlier rounds from a state, and adds the answers of the newest. */
export function recollect({ record }: RequestState, responses: JsonObject): Recollection {
  const answers = new Map<string, readonly [string, JsonObject]>(Object.entries(record?.['answers'] ?? {}));
  for (const [key, asked] of Object.entries<string>(record?.['open'] ?? {})) {
    if (Object.hasOwn(responses, key)) answers.set(key, [asked, responses[key]]);
  }
  return { answers };
}
