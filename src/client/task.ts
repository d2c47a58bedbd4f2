import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { onAborted } from '../base/abort.ts';
import { quoting } from '../base/short-text.ts';
import { Waiters } from '../base/waiters.ts';
import { startTimer, type Timer } from '../base/timer.ts';
import { weightOf } from '../jsonrpc/weight.ts';
import { Method } from '../protocol/methods.ts';
import { isTerminal, type DetailedTask } from '../protocol/tasks.ts';
import type { CallToolResult } from '../protocol/types.ts';
import { ConnectionError, InvalidResultError, TaskCancelledError, TimeoutError } from './errors.ts';
import type { RequestOptions, TaskOptions } from './options.ts';
import type { Requester } from './requester.ts';

/**
 * The wait before the first poll, in milliseconds. Later waits grow up to the interval that the server asks for, so a
 * short task is soon known to have ended.
 */
const FIRST_INTERVAL = 25;
/** The poll interval in milliseconds if the server gives none, and the bounds if it does. */
const DEFAULT_INTERVAL = 1000;
const MIN_INTERVAL = 100;
const MAX_INTERVAL = 60_000;
/** A random extra part of the interval, so that clients do not all poll at the same time. */
const JITTER = 0.1;
/** How many polls in a row may fail before the wait fails. */
const MAX_FAILURES = 5;
/** The most questions of one task, and the longest key of one, in characters. */
const MAX_QUESTIONS = 1000;
const MAX_KEY = 8192;
/** The most memory of the open questions of one task, in bytes (estimated). A single question may be larger. */
const MAX_SIZE = 64 * 1024 * 1024;

/** A call that runs in the background at its server (tasks extension). Another client only needs its id. */
export class TaskHandle {
  readonly id: string;
  readonly #requester: Requester;
  readonly #check: ((result: JsonObject) => Promise<CallToolResult>) | undefined;
  readonly #seed: JsonObject | undefined;
  /**
   * Questions that were answered or are being answered. A key is never reused (tasks extension: Task Update Requests).
   */
  readonly #asked = new Set<string>();
  /** The memory of the questions that are being answered. */
  #size = 0;

  constructor(
    requester: Requester,
    id: string,
    seed?: JsonObject,
    check?: (result: JsonObject) => Promise<CallToolResult>,
  ) {
    this.#requester = requester;
    this.id = id;
    this.#seed = seed;
    this.#check = check;
  }

  /** The current status of the task. @throws RpcError −32602 if the server does not have the task (any more). */
  async get(options: RequestOptions = {}): Promise<DetailedTask> {
    const task = await this.#requester.request(Method.GetTask, { taskId: this.id }, options);
    if (typeof task['status'] !== 'string')
      throw new InvalidResultError('The server answered tasks/get without a status');
    if (task['taskId'] !== undefined && task['taskId'] !== this.id)
      throw new InvalidResultError(quoting`The server answered tasks/get for ${this.id} with a different task`);
    return task as DetailedTask;
  }

  /** Answers questions of the task, by their keys. `result` does this automatically, with the client's handlers. */
  async update(inputResponses: JsonObject, options: RequestOptions = {}): Promise<void> {
    const fresh = Object.keys(inputResponses).filter((key) => !this.#asked.has(key));
    for (const key of fresh) this.#asked.add(key);
    try {
      await this.#requester.request(Method.UpdateTask, { taskId: this.id, inputResponses }, options);
    } catch (error) {
      for (const key of fresh) this.#asked.delete(key);
      throw error;
    }
  }

  /** Asks the server to stop the task. The server need not do so. */
  async cancel(options: RequestOptions = {}): Promise<void> {
    await this.#requester.request(Method.CancelTask, { taskId: this.id }, options);
  }

  /**
   * Waits until the task has ended, and answers its questions. Stopping the wait does not cancel the task.
   *
   * @throws the call's RpcError; TaskCancelledError; TimeoutError after `maxTimeout`; the signal's reason; a question
   * handler's error.
   */
  async result({ signal, maxTimeout, onstatus }: TaskOptions = {}): Promise<CallToolResult> {
    const waiting = new Waiting(
      [signal, this.#requester.closing.signal],
      this.#requester.limits({ maxTimeout }).maxTimeout,
    );
    try {
      return await this.#result(waiting, onstatus);
    } finally {
      waiting.end();
    }
  }

  async #result(waiting: Waiting, onstatus: TaskOptions['onstatus']): Promise<CallToolResult> {
    let known = this.#seed;
    if (known?.['status'] === 'working') await waiting.pause(intervalOf(known, 0));
    for (let failures = 0, polls = 1; ; polls += 1) {
      let task: DetailedTask | undefined;
      try {
        task = await this.get({ signal: waiting.signal });
        failures = 0;
      } catch (error) {
        waiting.signal.throwIfAborted();
        const passing = error instanceof ConnectionError || error instanceof TimeoutError;
        failures += 1;
        if (!passing || failures >= MAX_FAILURES) throw error;
      }
      if (task) {
        this.#requester.tell(() => onstatus?.(task));
        if (isTerminal(task.status)) return this.#outcome(task);
        if (task.status === 'input_required') this.#answerAll(task, waiting);
        known = task;
      }
      const interval = intervalOf(known, polls);
      // A young task asks for short intervals, but a server that restarts needs time.
      await waiting.pause(failures === 0 ? interval : Math.max(interval, DEFAULT_INTERVAL) * 2 ** failures);
    }
  }

  async #outcome(task: DetailedTask): Promise<CallToolResult> {
    const { status, statusMessage, error, result } = task;
    const said = statusMessage === undefined ? '' : `: ${statusMessage}`;
    if (status === 'cancelled') throw new TaskCancelledError(`The task was cancelled${said}`);
    if (status === 'failed') {
      if (isObject(error) && Number.isInteger(error['code'])) throw RpcError.fromObject(error);
      throw new InvalidResultError(`The task failed without an error${said}`);
    }
    if (!isObject(result)) throw new InvalidResultError('The task is completed without a result');
    return this.#check ? this.#check(result) : (result as CallToolResult);
  }

  #answerAll({ inputRequests = {} }: DetailedTask, waiting: Waiting): void {
    // A text of millions of characters would count as millions of questions.
    if (!isObject(inputRequests))
      throw new InvalidResultError('The server answered tasks/get with "inputRequests" that is not an object');
    for (const [key, question] of Object.entries<unknown>(inputRequests)) {
      if (this.#asked.has(key)) continue;
      if (this.#asked.size >= MAX_QUESTIONS)
        throw new InvalidResultError(`The task asked more than ${MAX_QUESTIONS} times`);
      if (key.length > MAX_KEY)
        throw new InvalidResultError(`The task asked a question whose key is longer than ${MAX_KEY} characters`);
      const size = weightOf(question, MAX_SIZE);
      // The server shows each question until it is answered.
      if (this.#size > 0 && this.#size + size > MAX_SIZE) return;
      this.#asked.add(key);
      this.#size += size;
      this.#answer(key, question, waiting)
        .catch((error: unknown) => {
          // If the server still needs the answer, it asks the next caller that waits for the task.
          this.#asked.delete(key);
          waiting.fail(error as Error);
        })
        .finally(() => void (this.#size -= size));
    }
  }

  async #answer(key: string, question: unknown, waiting: Waiting): Promise<void> {
    if (!isObject(question) || typeof question['method'] !== 'string') {
      throw new InvalidResultError(`The task asked ${JSON.stringify(key)} without a method`);
    }
    const { questions, revision } = this.#requester;
    const params: JsonObject = isObject(question['params']) ? question['params'] : {};
    const answer = questions.accept(Method.CallTool, question['method'], params, revision);
    await this.update({ [key]: await answer(waiting.signal, { key }) }, { signal: waiting.signal });
    waiting.wake();
  }
}

/**
 * Respects the interval that the server asks for, within limits (tasks extension: Task Polling). Without one, the wait
 * grows.
 *
 * @param polls how many polls there were so far.
 */
function intervalOf(task: JsonObject | undefined, polls: number): number {
  // Together, the waits double.
  const grown = FIRST_INTERVAL * 2 ** Math.max(0, polls - 1);
  const hint: unknown = task?.['pollIntervalMs'];
  const interval =
    typeof hint === 'number' && hint >= 0
      ? Math.min(Math.max(hint, Math.min(grown, MIN_INTERVAL)), MAX_INTERVAL)
      : Math.min(grown, DEFAULT_INTERVAL);
  return interval * (1 + Math.random() * JITTER);
}

/** One wait for a task. It ends when the task ends, the caller cancels, or the time limit is reached. */
class Waiting {
  readonly #controller = new AbortController();
  readonly #given: readonly AbortSignal[];
  readonly #cancel = (): void => this.fail(this.#given.find(({ aborted }) => aborted)?.reason);
  readonly #timer: Timer;
  readonly #waiters = new Waiters();

  constructor(given: readonly (AbortSignal | undefined)[], maxTimeout: number) {
    this.#given = given.filter((signal) => signal !== undefined);
    for (const signal of this.#given) onAborted(signal, this.#cancel);
    if (this.#given.some(({ aborted }) => aborted)) this.#cancel();
    const onTimeout = (): void =>
      this.fail(new TimeoutError(`The task did not end within ${maxTimeout} ms`, maxTimeout));
    this.#timer = startTimer(maxTimeout, onTimeout);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  fail(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Ends the pause early, because a notification about the task has come. */
  wake(): void {
    this.#waiters.wake();
  }

  /** @throws the reason why the wait has ended. */
  async pause(duration: number): Promise<void> {
    this.signal.throwIfAborted();
    await this.#waiters.wait({ signal: this.signal, timeout: Math.min(duration, MAX_INTERVAL * (1 + JITTER)) });
    this.signal.throwIfAborted();
  }

  end(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#given) signal.removeEventListener('abort', this.#cancel);
    // Cancels the open questions.
    this.#controller.abort(new ConnectionError('The task has ended'));
  }
}
