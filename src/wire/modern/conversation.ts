import { Refusal } from '../../core/refusal.ts';
import { randomUUID } from 'node:crypto';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { NotAsked, type AskOptions } from '../../core/exchange.ts';
import { Method } from '../../protocol/methods.ts';
import { sizeOf } from '../size.ts';
import { checkAnswer } from './answers.ts';
import { digest } from './digest.ts';
import type { ModernExchange, Round } from './exchange.ts';
import type { Parked, Parking } from './parking.ts';
import type { RequestState } from './sealed-state.ts';

/** What is known of earlier rounds where the process that asked does not remember them. */
export interface Recollection {
  /** Answers by the key of their question, each with the digest of the question. */
  readonly answers: ReadonlyMap<string, readonly [digest: string, answer: JsonObject]>;
}

interface Question {
  readonly method: string;
  readonly params: JsonObject;
  readonly digest: string;
  /** See `AskOptions`. */
  readonly outlivesRequest: boolean;
  resolve(answer: JsonObject): void;
  reject(error: Error): void;
}

/** Sends the questions that are open to the caller, as the answer to its request. */
export type Inquirer = (conversation: Conversation, questions: JsonObject) => void;

/** Larger records do not travel with the caller, in characters: such a request cannot be taken up by another process. */
const MAX_RECORD = 64 * 1024;

const NAMES: Readonly<Record<string, string>> = {
  [Method.Elicit]: 'elicitation',
  [Method.CreateMessage]: 'sampling',
  [Method.ListRoots]: 'roots',
};

/**
 * The questions and answers of one exchange. What is asked in one turn of the event loop goes out together; then the
 * exchange waits, without a request, until its caller comes again with answers (2026-07-28, patterns/mrtr).
 */
export class Conversation implements Parked {
  readonly id = randomUUID();
  readonly exchange: ModernExchange;
  readonly principal: string | undefined;
  readonly address: string | undefined;
  readonly #requestBytes: number;
  #answerBytes = 0;
  /** Of the questions that the caller was sent away with last. */
  #questionBytes = 0;
  /** Counts the times that the caller was sent away; a state is good for the newest only. */
  round = 0;
  readonly #parking: Parking<Conversation>;
  readonly #inquire: Inquirer;
  readonly #recollection: Recollection | undefined;
  readonly #open = new Map<string, Question>();
  readonly #answered = new Map<string, readonly [digest: string, answer: JsonObject]>();
  #count = 0;
  #scheduled = false;
  /** Answers the next request at once: the handler has finished while the caller was away. */
  #outcome: (() => void) | undefined;

  constructor(
    exchange: ModernExchange,
    parking: Parking<Conversation>,
    inquire: Inquirer,
    recollection: Recollection | undefined,
  ) {
    this.exchange = exchange;
    const { extra } = exchange.round ?? {};
    this.principal = exchange.caller.principal;
    this.address = extra?.address;
    this.#requestBytes = extra?.bytes ?? 0;
    this.#parking = parking;
    this.#inquire = inquire;
    this.#recollection = recollection;
  }

  /** Of the request, of the answers so far, and of the questions, about; the same for as long as the caller is away. */
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
      const message = `${method} was not asked: the request has another question named ${JSON.stringify(key)}`;
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
    const answer = new Promise<JsonObject>((resolve, reject) => {
      const takeBack = (): void => {
        if (this.#open.delete(key)) reject(signal!.reason);
      };
      const settled = (): void => signal?.removeEventListener('abort', takeBack);
      signal?.addEventListener('abort', takeBack, { once: true });
      this.#open.set(key, {
        method,
        params,
        digest: asked,
        outlivesRequest,
        resolve: (response) => {
          settled();
          resolve(response);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      this.#schedule();
    });
    // A handler that does not wait for the answer must not end the process by it.
    answer.catch(() => {});
    return answer;
  }

  /**
   * The caller has come again; called while it is away.
   *
   * @throws Refusal where the state is not of the newest round, or an answer is none to its question; nothing has changed
   * then.
   */
  resume(round: Round, number: number | undefined, responses: JsonObject): void {
    if (number !== this.round) {
      throw Refusal.params('"requestState" is of a round that has been answered already');
    }
    // What was not asked for is ignored (2026-07-28, patterns/mrtr: Error Handling).
    const answers = [...this.#open].filter(([key]) => Object.hasOwn(responses, key));
    for (const [key, { method }] of answers) checkAnswer(key, method, responses[key]);
    this.#parking.delete(this);
    // What is more than in the first round are answers, which are kept.
    this.#answerBytes += Math.max(0, (round.extra?.bytes ?? 0) - this.#requestBytes);
    this.exchange.resume(round);
    for (const [key, question] of answers) {
      this.#open.delete(key);
      this.#answered.set(key, [question.digest, responses[key]]);
      question.resolve(responses[key]);
    }
    if (this.#outcome) {
      this.#giveBack();
      return this.#outcome();
    }
    // What is missing is asked again, unless the handler can do without.
    this.#schedule();
  }

  /** The handler has finished. Returns whether the caller is away; then the outcome is kept for it. */
  finish(outcome: () => void): boolean {
    const away = !this.exchange.round && !this.exchange.ended;
    // The caller may still answer a question of another call, when it comes for the outcome.
    this.#giveBack((question) => !(away && question.outlivesRequest));
    if (!away) return false;
    this.#outcome = outcome;
    return true;
  }

  /** Nobody waits for it any more. */
  giveUp(reason: Error): void {
    this.exchange.abort(reason);
  }

  /** The exchange is over. */
  end(reason: Error): void {
    this.#parking.delete(this);
    this.#dismiss(reason);
  }

  /** What the caller is to bring along. @param replayable whether another process may take the request up. */
  state(replayable: boolean): RequestState {
    const base = { exchange: this.id, round: this.round };
    if (!replayable) return base;
    const record: JsonObject = {
      answers: Object.fromEntries(this.#answered),
      open: Object.fromEntries([...this.#open].map(([key, question]) => [key, question.digest])),
    };
    const { noted } = this.exchange;
    const state = { ...base, record, ...(noted && noted.size > 0 ? { notes: [...noted] } : {}) };
    return travels(state) ? state : base;
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
    // After what this turn of the event loop still asks, or decides.
    setImmediate(() => {
      this.#scheduled = false;
      this.#sendAway();
    });
  }

  #sendAway(): void {
    if (this.#open.size === 0 || !this.exchange.round) return;
    this.#questionBytes = 0;
    for (const { params } of this.#open.values()) this.#questionBytes += sizeOf(params);
    try {
      this.#parking.add(this);
    } catch (error) {
      return this.#dismiss(error as Error);
    }
    this.round += 1;
    const questions = [...this.#open].map(([key, { method, params }]) => [key, { method, params }] as const);
    this.#inquire(this, Object.fromEntries(questions));
  }

  /** Rejects open questions in a way that lets them be asked through another call. */
  #giveBack(which: (question: Question) => boolean = () => true): void {
    for (const [key, question] of [...this.#open]) {
      if (!which(question)) continue;
      this.#open.delete(key);
      question.reject(new NotAsked(question.method, this.exchange.method));
    }
  }

  #dismiss(reason: Error): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const question of open) question.reject(reason);
  }
}

/** Whether a state is small enough for its caller to carry, and not nested too deep to be written. */
function travels(state: RequestState): boolean {
  try {
    return JSON.stringify(state).length <= MAX_RECORD;
  } catch {
    return false;
  }
}

/** What a state says of earlier rounds, with the answers that the caller brings to the last. */
export function recollect({ record }: RequestState, responses: JsonObject): Recollection {
  const answers = new Map<string, readonly [string, JsonObject]>(Object.entries(record?.['answers'] ?? {}));
  for (const [key, asked] of Object.entries<string>(record?.['open'] ?? {})) {
    if (Object.hasOwn(responses, key)) answers.set(key, [asked, responses[key]]);
  }
  return { answers };
}
