import { signal, type ReadonlySignal } from '@preact/signals';
import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { isTerminal, type TaskStatus } from '../../src/protocol/tasks.ts';
import { textOf } from './entry-list.ts';
import type { Outcome, Sent } from './request.ts';

/** The time between two `tasks/get`, in milliseconds: the default, and the limits for what the server names. */
const INTERVAL = 1000;
const MIN_INTERVAL = 250;
const MAX_INTERVAL = 60_000;
/** How many `tasks/get` in a row may fail. */
const MAX_FAILURES = 5;
/** The most questions that are open at a time. Others follow when these are answered. */
const MAX_QUESTIONS = 100;

/** What a task looks like. */
export interface TaskView {
  readonly id: string;
  readonly status: TaskStatus;
  readonly message?: string | undefined;
  /** The open questions of 2026-07-28 by their keys. */
  readonly questions: Readonly<JsonObject>;
  /** What became of the call. */
  readonly outcome?: Outcome | undefined;
  /** Why the task is no longer followed, although it has not ended. */
  readonly lost?: string | undefined;
}

/** Sends a request of the task. */
export type Send = (method: string, params: JsonObject, timeout?: number) => Pick<Sent, 'settled' | 'cancel'>;

/** The task of a result: of the extension (2026-07-28), or of the core (2025-11-25). Undefined if there is none. */
export function taskOf(result: JsonObject): JsonObject | undefined {
  const task: unknown = result['resultType'] === 'task' ? result : result['task'];
  return isObject(task) && typeof task['taskId'] === 'string' ? task : undefined;
}

/** Follows a task until it ends. */
export class FollowedTask {
  readonly id: string;
  /** The call that became a task, to show to the user. */
  readonly call: string;
  readonly #view;
  readonly #send: Send;
  readonly #isCore: boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #lastPoll = 0;
  #isCancelled = false;
  #result: Pick<Sent, 'settled' | 'cancel'> | undefined;
  readonly #answered = new Set<string>();
  /** The answers that are being sent. */
  readonly #answering = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(result: JsonObject, call: string, send: Send) {
    const task = taskOf(result)!;
    this.id = task['taskId'] as string;
    this.call = call;
    this.#send = send;
    this.#isCore = result['resultType'] !== 'task';
    this.#view = signal<TaskView>(viewOf(this.id, task, this.#answered));
    this.#next(task);
  }

  get view(): ReadonlySignal<TaskView> {
    return this.#view;
  }

  /**
   * Asks the server to stop it, and once for its state after that. The server need not stop it, or not at once. Clients poll
   * until they cancel a task (tasks extension: Task Polling, Task Cancellation).
   */
  cancel(): void {
    this.#isCancelled = true;
    this.#forgetPoll();
    void this.#send('tasks/cancel', { taskId: this.id }).settled.then((outcome) => {
      if (outcome.kind === 'error') {
        this.#isCancelled = false;
        this.#change({ message: `The task cannot be cancelled: ${outcome.error.message}` });
      }
      this.#poll();
    });
  }

  /**
   * Answers a question of the task (tasks extension: Task Update Requests). It stays open until the server has the answer.
   *
   * @throws Error if the answer does not reach the server.
   */
  answer(key: string, answer: JsonObject): Promise<void> {
    const sent = this.#answering.get(key) ?? this.#answer(key, answer).finally(() => this.#answering.delete(key));
    this.#answering.set(key, sent);
    return sent;
  }

  async #answer(key: string, answer: JsonObject): Promise<void> {
    const outcome = await this.#send('tasks/update', { taskId: this.id, inputResponses: { [key]: answer } }).settled;
    const problem = problemOf(outcome);
    if (problem !== undefined) throw new Error(problem);
    this.#answered.add(key);
    const { [key]: _answered, ...questions } = this.#view.value.questions;
    this.#change({ questions });
    this.#poll();
  }

  /** Gets the task's state now, even if following it has failed. */
  refresh(): void {
    this.#failures = 0;
    this.#change({ lost: undefined });
    this.#poll();
  }

  /** Stops following the task. It continues at the server. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #change(part: Partial<TaskView>): void {
    this.#view.value = { ...this.#view.value, ...part };
  }

  #poll(): void {
    const poll = this.#forgetPoll();
    if (this.#stopped || this.#view.value.outcome) return;
    void this.#send('tasks/get', { taskId: this.id }).settled.then((outcome) => {
      // A later one tells more.
      if (poll === this.#lastPoll) this.#got(outcome);
    });
  }

  /** Asks no more, and ignores what was asked before. Returns the number of the next poll. */
  #forgetPoll(): number {
    clearTimeout(this.#timer);
    this.#lastPoll += 1;
    return this.#lastPoll;
  }

  #got(outcome: Outcome): void {
    if (this.#stopped || this.#view.value.outcome) return;
    if (outcome.kind === 'result') {
      this.#failures = 0;
      this.#next(outcome.result);
      return;
    }
    this.#failures += 1;
    const why = outcome.kind === 'error' ? outcome.error.message : 'tasks/get was not answered';
    if (this.#failures >= MAX_FAILURES || this.#isCancelled) this.#change({ lost: why });
    else this.#wait(INTERVAL * 2 ** this.#failures);
  }

  /** @param task the newest state of the task. */
  #next(task: JsonObject): void {
    const view = viewOf(this.id, task, this.#answered);
    this.#view.value = { ...view, lost: undefined };
    if (this.#isCore && (isTerminal(view.status) || view.status === 'input_required')) this.#takeResult();
    else if (!isTerminal(view.status)) this.#wait(intervalOf(task));
    if (this.#isCore && !isTerminal(view.status) && this.#result) this.#wait(intervalOf(task));
  }

  /** In 2025-11-25, the result is a request of its own, and the server's questions come while it is open. */
  #takeResult(): void {
    this.#result ??= this.#send('tasks/result', { taskId: this.id }, 0);
    void this.#result.settled.then((outcome) => {
      if (this.#stopped || this.#view.value.outcome) return;
      clearTimeout(this.#timer);
      if (outcome.kind === 'refused' || outcome.kind === 'lost') {
        this.#result = undefined;
        return this.#change({ lost: outcome.message });
      }
      const { status } = this.#view.value;
      const ended = outcome.kind === 'error' ? 'failed' : 'completed';
      this.#change({ outcome, status: isTerminal(status) ? status : ended });
    });
  }

  #wait(duration: number): void {
    clearTimeout(this.#timer);
    if (this.#isCancelled) this.#change({ lost: 'the server was asked to cancel it, and has not done so yet' });
    else if (!this.#stopped) this.#timer = setTimeout(() => this.#poll(), duration);
  }
}

const STATUSES: ReadonlySet<unknown> = new Set(['working', 'input_required', 'completed', 'failed', 'cancelled']);

function viewOf(id: string, task: JsonObject, answered: ReadonlySet<string>): TaskView {
  const { status, statusMessage, inputRequests, result, error } = task;
  const open = Object.entries(isObject(inputRequests) ? inputRequests : {}).filter(([key]) => !answered.has(key));
  const outcome = outcomeOf(status, result, error);
  return {
    id,
    status: STATUSES.has(status) ? (status as TaskStatus) : 'working',
    ...(typeof statusMessage === 'string' && { message: statusMessage }),
    questions: Object.fromEntries(open.slice(0, MAX_QUESTIONS)),
    ...(outcome && { outcome }),
  };
}

function outcomeOf(status: unknown, result: unknown, error: unknown): Outcome | undefined {
  if (status === 'completed' && isObject(result)) return { kind: 'result', result, duration: 0 };
  if (status !== 'failed' || !isObject(error)) return undefined;
  const { code, message, data } = error;
  const known = { ...(typeof code === 'number' && { code }), message: textOf(message) ?? 'The error has no message.' };
  return { kind: 'error', error: { ...known, data }, duration: 0 };
}

/** Why a request has no result. Undefined if it has one. */
function problemOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'error') return outcome.error.message;
  return outcome.kind === 'refused' || outcome.kind === 'lost' ? outcome.message : undefined;
}

function intervalOf({ pollIntervalMs, pollInterval = pollIntervalMs }: JsonObject): number {
  return typeof pollInterval === 'number' ? Math.min(Math.max(pollInterval, MIN_INTERVAL), MAX_INTERVAL) : INTERVAL;
}
