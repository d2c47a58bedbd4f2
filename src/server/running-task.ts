import { Deferred } from '../base/deferred.ts';
import type { AskOptions, Caller } from '../core/exchange.ts';
import { checkAnswer, checkQuestion } from '../core/questions.ts';
import { paced } from '../base/paced.ts';
import { Waiters } from '../base/waiters.ts';
import { idlePause, waitFor } from '../base/wait.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { ErrorObject, JsonObject } from '../jsonrpc/message.ts';
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
  /** Called after each change that is stored. */
  readonly onchange: () => void;
  /** Called with the last state of a task that has expired, which the store no longer has. */
  readonly onexpired: (task: TaskRecord) => void;
  /** Called when nothing more will be stored for the task. */
  readonly onover: () => void;
  /** Gets the errors of failed writes to the store. */
  readonly onerror: (error: Error) => void;
}

/** The shortest time between two status messages from a handler's progress, in milliseconds. */
const PROGRESS_INTERVAL = 1000;
/** Characters of a status message. */
const MAX_MESSAGE = 2000;
/** The most questions in the life of one task. */
const MAX_QUESTIONS = 10_000;
/** Milliseconds after which a write that failed is tried again. */
const RETRIES = [100, 1000, 5000];
const NOT_STORED: Outcome = failure(
  new RpcError(ErrorCode.InternalError, 'The outcome of the task could not be stored'),
);

/**
 * A task that runs in this process. This object holds its current state. The store follows with one write at a time,
 * and each write has all changes since the last one.
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
  #changed = false;
  /** How many changes were stored. */
  #changes = 0;
  readonly #stores = new Waiters();
  /** Whether nothing more will be stored. */
  #left = false;
  #writing: Promise<void> | undefined;
  #lastWrite = performance.now();
  #later: ReturnType<typeof setTimeout> | undefined;
  #expiry: ReturnType<typeof setTimeout> | undefined;

  /** @param record as it was created. */
  constructor(record: TaskRecord, options: RunningTaskOptions) {
    this.#record = record;
    this.#options = options;
    this.#statusMessage = record.statusMessage;
  }

  /** Called when the task is stored. Its lifetime starts now. */
  begin(): void {
    const { createdAt, ttlMs } = this.#record;
    if (ttlMs === null || this.over) return;
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
    this.#change();
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
    this.#change();
    try {
      return await waitFor(answer.promise, { signal });
    } finally {
      if (this.#questions.delete(key)) this.#change();
    }
  }

  /**
   * Takes answers. Answers to questions that are not open are ignored. Resolves when the change is stored.
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
    this.#change();
    await this.#stored();
  }

  /** Fires the signal, without deciding the outcome. */
  interrupt(reason: Error): void {
    this.#options.controller.abort(reason);
    this.#dismiss(reason);
  }

  /**
   * Decides the outcome, unless it is decided already. Fires the signal unless the handler itself has ended the task.
   * Resolves when stored.
   */
  async end(outcome: Outcome): Promise<void> {
    if (this.#decide(outcome)) this.#change();
    await this.#stored();
  }

  /** Resolves with how many changes were stored, when it is not this number any more, or with the end of the changes. */
  async nextChange(seen: number | undefined, signal: AbortSignal): Promise<number | 'over'> {
    while (this.#changes === seen && !this.#left && !signal.aborted) await this.#stores.wait({ signal });
    return this.#left || isTerminal(this.#record.status) ? 'over' : this.#changes;
  }

  #decide(outcome: Outcome): boolean {
    if (this.#outcome) return false;
    this.#outcome = outcome;
    clearTimeout(this.#expiry);
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
    if (!this.#decide(failure(new RpcError(ErrorCode.InternalError, 'The task has expired')))) return;
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
        this.#change();
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

  #change(): void {
    this.#changed = true;
    this.#writing ??= this.#write();
  }

  /** Resolves when all changes so far are stored, or have failed to be stored. */
  async #stored(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    // Includes further changes of the same turn.
    await Promise.resolve();
    let attempt = 0;
    while (this.#changed) {
      this.#changed = false;
      this.#lastWrite = performance.now();
      try {
        const record = await this.#options.store.update(this.id, this.principal, (task) => this.#apply(task));
        attempt = 0;
        this.#wrote(record);
      } catch (error) {
        this.#options.onerror(error as Error);
        const pause = error instanceof TaskStoreFull || error instanceof TypeError ? undefined : RETRIES[attempt];
        attempt += 1;
        if (pause === undefined) this.#failUnstored();
        else {
          await idlePause(pause);
          this.#changed = true;
        }
      }
    }
    this.#writing = undefined;
    if (this.#outcome) this.#leave();
  }

  #wrote(record: TaskRecord | undefined): void {
    if (!record) {
      // It has expired or was deleted.
      this.#decide({ status: 'cancelled', statusMessage: 'The task is no longer stored' });
      return;
    }
    // Another process may have cancelled the task.
    if (isTerminal(record.status)) this.#decide({ status: 'cancelled', statusMessage: 'Cancelled' });
    this.#record = record;
    this.#changes += 1;
    this.#options.onchange();
    this.#stores.wake();
  }

  #leave(): void {
    this.#left = true;
    this.#options.onover();
    this.#stores.wake();
  }

  /** If the task cannot be stored, it ends with an error. The error is small, so storing it may still work. */
  #failUnstored(): void {
    if (this.#outcome === NOT_STORED) return;
    this.#decide(NOT_STORED);
    this.#outcome = NOT_STORED;
    this.#changed = true;
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
