import { Deferred } from '../base/deferred.ts';
import type { AskOptions, Caller } from '../core/exchange.ts';
import { checkAnswer, checkQuestion } from '../core/questions.ts';
import { paced } from '../base/paced.ts';
import { UntilDone } from '../base/until-done.ts';
import { waitFor } from '../base/wait.ts';
import { Waiters } from '../base/waiters.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { ErrorObject, JsonObject } from '../jsonrpc/message.ts';
import { isWritable } from '../jsonrpc/stringify.ts';
import { NotificationMethod } from '../protocol/methods.ts';
import { isTerminal } from '../protocol/tasks.ts';
import { TaskStoreFull, type TaskRecord, type TaskStore } from '../store/task-store.ts';

interface Question {
  readonly method: string;
  readonly params: JsonObject;
  readonly answer: Deferred<JsonObject>;
}

/** How a task ends. */
export type Outcome =
  | { readonly status: 'completed'; readonly result: JsonObject }
  | { readonly status: 'failed'; readonly error: ErrorObject; readonly statusMessage: string }
  | { readonly status: 'cancelled'; readonly statusMessage: string };

/** The outcome of a call that ended with an error (tasks extension: Task Execution Errors). */
export function failure(error: RpcError): Outcome {
  return { status: 'failed', error: error.toObject(), statusMessage: error.message };
}

export interface RunningTaskOptions {
  readonly store: TaskStore;
  /** Fires when the result is no longer needed: the task was cancelled, it has expired, or the server closes. */
  readonly controller: AbortController;
  /** The caller that answers the task's questions. */
  readonly caller: Caller;
  /** Counts the memory of an outcome that waits for the store. Returns false if there is no room. */
  readonly admit: (outcome: Outcome) => boolean;
  /** Called after each change that is stored. */
  readonly onchange: () => void;
  /** Called with the last state of a task that the store no longer has, because it has expired or was lost. */
  readonly onexpired: (task: TaskRecord) => void;
  /** Called when nothing more will be stored for the task. */
  readonly onover: () => void;
  /** Gets the errors of the store. While it fails, only the first one. */
  readonly onerror: (error: Error) => void;
}

/** The shortest time between two status messages from a handler's progress, in milliseconds. */
const PROGRESS_INTERVAL = 1000;
/** Characters of a status message. */
const MAX_MESSAGE = 2000;
/** The most questions in the life of one task. */
const MAX_QUESTIONS = 10_000;
/** The longest pause before a write that failed is tried again. Milliseconds. */
const MAX_PAUSE = 5000;
const NOT_STORED: Outcome = failure(
  new RpcError(ErrorCode.InternalError, 'The outcome of the task could not be stored'),
);

/**
 * A task that runs in this process. This object holds its current state. The store follows with one write at a time,
 * and each write has all changes since the last one. While the store fails, the task goes on, and its newest state is
 * stored later, also if it has ended.
 */
export class RunningTask {
  /** The estimated memory of its request and the answers, in bytes. */
  size = 0;
  readonly #options: RunningTaskOptions;
  #record: TaskRecord;
  readonly #questions = new Map<string, Question>();
  /** Keys of all questions so far. A key is never used twice (tasks extension: Task Update Requests). */
  readonly #keys = new Set<string>();
  #statusMessage: string | undefined;
  #outcome: Outcome | undefined;
  /** Whether the memory of the outcome is counted. */
  #admitted = false;
  /** How many changes were stored. */
  #changes = 0;
  readonly #stores = new Waiters();
  /** Whether nothing more will be stored. */
  #left = false;
  /** Whether its lifetime is over. A write in flight changes nothing any more. */
  #isExpired = false;
  readonly #storing: UntilDone;
  /** Settles when the next write has ended, even if it has failed. */
  #nextWrite = new Deferred();
  #lastWrite = performance.now();
  #later: ReturnType<typeof setTimeout> | undefined;
  #expiry: ReturnType<typeof setTimeout> | undefined;

  /** @param record as it was created. */
  constructor(record: TaskRecord, options: RunningTaskOptions) {
    this.#record = record;
    this.#options = options;
    this.#statusMessage = record.statusMessage;
    this.#storing = new UntilDone(
      () => this.#store(),
      (error) => options.onerror(error as Error),
      MAX_PAUSE,
    );
  }

  /** Called when the task is stored. Its lifetime starts now. */
  begin(): void {
    const { createdAt, ttlMs } = this.#record;
    if (ttlMs === null || this.#left) return;
    this.#expiry = setTimeout(() => void this.#expire(), Math.max(0, createdAt + ttlMs - Date.now()));
    this.#expiry.unref?.();
  }

  get id(): string {
    return this.#record.id;
  }

  get principal(): string | undefined {
    return this.#record.principal;
  }

  /** Whose part of the limits it uses. Undefined if only the total limits apply. */
  get share(): string | undefined {
    const { principal, share } = this.#record;
    return principal === undefined ? share && `share ${share}` : `principal ${principal}`;
  }

  /** The task as last stored. */
  get record(): TaskRecord {
    return this.#record;
  }

  /** Fires when the result is no longer needed. */
  get signal(): AbortSignal {
    return this.#options.controller.signal;
  }

  /** Whether the outcome is decided. */
  get over(): boolean {
    return this.#outcome !== undefined;
  }

  /**
   * Takes the handler's notifications. Progress becomes the status message. Others are dropped, because a task cannot
   * carry them (tasks extension: Task Status Notifications).
   */
  notify(method: string, params: JsonObject = {}): Promise<void> {
    if (method === NotificationMethod.Progress) this.#progress(params);
    return paced(Promise.resolve());
  }

  /** Sets the status message, which is for people. */
  describe(statusMessage: string): void {
    if (this.over) return;
    this.#statusMessage = statusMessage.slice(0, MAX_MESSAGE);
    this.#storing.ask();
  }

  /** Adds a question to the task, and waits for its answer in `tasks/update`. */
  async ask(method: string, params: JsonObject, { key: given, signal }: AskOptions = {}): Promise<JsonObject> {
    signal?.throwIfAborted();
    this.signal.throwIfAborted();
    if (this.over) throw new RpcError(ErrorCode.InvalidRequest, `${method} was not sent: the task has ended`);
    checkQuestion(method, params, this.#options.caller);
    const key = this.#newKey(method, given);
    const answer = new Deferred<JsonObject>();
    this.#questions.set(key, { method, params, answer });
    this.#storing.ask();
    try {
      return await waitFor(answer.promise, { signal });
    } finally {
      if (this.#questions.delete(key)) this.#storing.ask();
    }
  }

  /**
   * Takes answers. Answers to questions that are not open are ignored. Resolves when the change is stored, or could not be
   * stored yet.
   *
   * @throws RpcError −32602 (rejects) if an answer does not fit its question. Nothing has changed then.
   */
  async answer(responses: JsonObject): Promise<void> {
    const answered = [...this.#questions].filter(([key]) => Object.hasOwn(responses, key));
    for (const [key, { method }] of answered) checkAnswer(key, method, responses[key]);
    if (answered.length === 0) return;
    for (const [key, question] of answered) {
      this.#questions.delete(key);
      question.answer.resolve(responses[key]);
    }
    this.#storing.ask();
    await this.#stored();
  }

  /** Stores the current state again if the store has other questions: it may have lost questions and answers. */
  restore({ inputRequests = {} }: TaskRecord): void {
    const keys = Object.keys(inputRequests);
    if (keys.length !== this.#questions.size || !keys.every((key) => this.#questions.has(key))) this.#storing.ask();
  }

  /** Ends if the store has it as ended by another process. @throws (rejects) an error of the store. */
  async findEnd(): Promise<void> {
    if (this.over) return;
    const stored = await this.#options.store.get(this.id, this.principal);
    // The write finds the end, and changes nothing.
    if (stored && isTerminal(stored.status)) this.#storing.ask();
  }

  /** Fires the signal, without deciding the outcome. */
  interrupt(reason: Error): void {
    this.#options.controller.abort(reason);
    this.#dismiss(reason);
  }

  /**
   * Decides the outcome, unless it is decided already. Fires the signal unless the handler itself has ended the task.
   * Resolves when it is stored, or could not be stored yet.
   */
  async end(outcome: Outcome): Promise<void> {
    if (this.#decide(outcome)) this.#storing.ask();
    await this.#stored();
  }

  /** Decides the outcome as `end` does, and tries for the last time to store it. */
  async close(outcome: Outcome): Promise<void> {
    this.#decide(outcome);
    this.#storing.close();
    try {
      if (!this.#left) await this.#store();
    } catch (error) {
      this.#options.onerror(error as Error);
    }
    this.#leave();
  }

  /** Resolves with how many changes were stored, when it is not this number any more, or with the end of the changes. */
  async nextChange(seen: number | undefined, signal: AbortSignal): Promise<number | 'over'> {
    while (this.#changes === seen && !this.#left && !signal.aborted) await this.#stores.wait({ signal });
    return this.#left || isTerminal(this.#record.status) ? 'over' : this.#changes;
  }

  #decide(outcome: Outcome): boolean {
    if (this.#outcome) return false;
    this.#outcome = outcome;
    clearTimeout(this.#later);
    const reason =
      outcome.status === 'completed'
        ? new RpcError(ErrorCode.InvalidRequest, 'The task has ended')
        : new RpcError(ErrorCode.InternalError, `The task has ended: ${outcome.statusMessage}`);
    this.#dismiss(reason);
    if (outcome.status !== 'completed') this.#options.controller.abort(reason);
    return true;
  }

  async #expire(): Promise<void> {
    this.#isExpired = true;
    // An outcome that could not be stored stays what it is.
    this.#decide(failure(new RpcError(ErrorCode.InternalError, 'The task has expired')));
    this.#storing.close();
    // The store has dropped the task or will drop it. Subscribers still get the outcome.
    this.#options.onexpired(this.#apply(this.#record));
    try {
      await this.#options.store.delete(this.id, this.principal);
    } catch (problem) {
      this.#options.onerror(problem as Error);
    }
    this.#leave();
  }

  #progress({ progress, total, message }: JsonObject): void {
    if (this.over) return;
    const amount = total === undefined ? String(progress) : `${String(progress)} of ${String(total)}`;
    this.#statusMessage = (typeof message === 'string' ? message : amount).slice(0, MAX_MESSAGE);
    if (this.#later !== undefined) return;
    this.#later = setTimeout(
      () => {
        this.#later = undefined;
        this.#storing.ask();
      },
      Math.max(0, this.#lastWrite + PROGRESS_INTERVAL - performance.now()),
    );
    this.#later.unref?.();
  }

  #newKey(method: string, given: string | undefined): string {
    if (this.#keys.size >= MAX_QUESTIONS) {
      throw new RpcError(ErrorCode.InternalError, `${method} was not sent: the task has asked too many questions`);
    }
    let key = given ?? `question-${this.#keys.size + 1}`;
    // If a handler reuses a key, the second question needs a new one: clients have already seen the first.
    for (let again = 2; this.#keys.has(key); again += 1) key = `${given ?? 'question'}-${again}`;
    this.#keys.add(key);
    return key;
  }

  #dismiss(reason: Error): void {
    const open = [...this.#questions.values()];
    this.#questions.clear();
    for (const { answer } of open) answer.reject(reason);
  }

  /** Resolves when all changes so far are stored, or could not be stored yet. */
  async #stored(): Promise<void> {
    if (!this.#left) await this.#nextWrite.promise;
  }

  /** Stores the current state. @throws (rejects) an error of the store, if the same state may be stored later. */
  async #store(): Promise<void> {
    const write = this.#nextWrite;
    this.#nextWrite = new Deferred();
    this.#lastWrite = performance.now();
    try {
      this.#wrote(await this.#options.store.update(this.id, this.principal, (task) => this.#apply(task)));
    } catch (error) {
      if (!this.#drop(error as Error)) throw error;
      this.#options.onerror(error as Error);
      await this.#store();
    } finally {
      write.resolve();
    }
  }

  #wrote(record: TaskRecord | undefined): void {
    if (this.#left || this.#isExpired) return;
    if (!record) {
      // It has expired, or the store has lost it.
      this.#decide({ status: 'cancelled', statusMessage: 'The task is no longer stored' });
      this.#options.onexpired(this.#apply(this.#record));
      this.#leave();
      return;
    }
    // Another process may have cancelled the task.
    if (isTerminal(record.status)) this.#decide({ status: 'cancelled', statusMessage: 'Cancelled' });
    this.#record = record;
    this.#changes += 1;
    this.#options.onchange();
    this.#stores.wake();
    if (isTerminal(record.status)) this.#leave();
  }

  #leave(): void {
    this.#left = true;
    clearTimeout(this.#expiry);
    this.#storing.close();
    this.#options.onover();
    this.#stores.wake();
    this.#nextWrite.resolve();
  }

  /**
   * Drops what the store will never take, and an outcome that this process has no room to keep until then. Returns false if
   * there is no such thing.
   */
  #drop(error: Error): boolean {
    const isFull = error instanceof TaskStoreFull || error instanceof TypeError;
    // An admitted outcome was written before, and may be large.
    const isRefused = isFull || (!this.#admitted && !isWritable(this.#apply(this.#record)));
    if (this.#outcome) {
      if (this.#outcome === NOT_STORED || this.#outcome.status === 'cancelled') return false;
      if (!isRefused && (this.#admitted ||= this.#options.admit(this.#outcome))) return false;
      // It is small, so storing it may still work.
      this.#outcome = NOT_STORED;
      return true;
    }
    const stored = this.#record.inputRequests ?? {};
    const refused = isRefused ? [...this.#questions].filter(([key]) => !Object.hasOwn(stored, key)) : [];
    for (const [key, { method, answer }] of refused) {
      this.#questions.delete(key);
      answer.reject(new RpcError(ErrorCode.InternalError, `${method} was not sent: it could not be stored`));
    }
    return refused.length > 0;
  }

  #apply(task: TaskRecord): TaskRecord {
    const { inputRequests: _questions, statusMessage: _message, ...rest } = task;
    const base: TaskRecord = { ...rest, lastUpdatedAt: Math.max(Date.now(), task.lastUpdatedAt) };
    if (this.#outcome) return { ...base, ...this.#outcome };
    const message = this.#statusMessage === undefined ? {} : { statusMessage: this.#statusMessage };
    if (this.#questions.size === 0) return { ...base, ...message, status: 'working' };
    const inputRequests = Object.fromEntries(
      [...this.#questions].map(([key, { method, params }]) => [key, { method, params }]),
    );
    return { ...base, ...message, status: 'input_required', inputRequests };
  }
}
