import { randomBytes, randomUUID } from 'node:crypto';
import { Deferred } from '../base/deferred.ts';
import { inTurns } from '../base/in-turns.ts';
import type { Caller, Exchange } from '../core/exchange.ts';
import { Waiters } from '../base/waiters.ts';
import { Quota } from '../base/quota.ts';
import { PART_OF_ONE, type Owner } from '../base/share.ts';
import { completeRounds } from '../core/rounds.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';
import { isTerminal, type DetailedTask, type Task } from '../protocol/tasks.ts';
import { memoryTaskStore } from '../store/memory-tasks.ts';
import { storedShareOf } from '../base/stored-share.ts';
import { TaskStoreFull, type TaskRecord, type TaskStore } from '../store/task-store.ts';
import { FollowedTasks } from './followed-tasks.ts';
import { OtherRunners, Unreachable, type TaskRequest } from './other-runners.ts';
import { failure, RunningTask, type Outcome } from './running-task.ts';
import type { TaskSettings } from './task-config.ts';
import { TaskReads } from './task-reads.ts';
import {
  demandTasks,
  supportsTasks,
  type RunTool,
  type StartTask,
  type KeptTasks,
  type StartTaskOptions,
} from './task-rules.ts';
import { TaskExchange } from './task-exchange.ts';
import { created, detailed } from './task-state.ts';

/** The longest task id, in characters. Longer ids are unknown. */
const MAX_ID = 256;
/** The memory limit for what `Tasks` keeps for running tasks, in bytes (estimated). */
const MAX_SIZE = 256 * 1024 * 1024;
/** The same limit for one principal. An address without a principal may have seven eighths of all. */
const MAX_PRINCIPAL_SIZE = 64 * 1024 * 1024;
const STOPPED = 'The server was shut down before the task was done';
const KILLED = 'The server was stopped before the task was done';
const LOST = 'The task has ended, but the store has lost its outcome';
const CANCELLED = { status: 'cancelled', statusMessage: 'Cancelled by its caller' } as const;

/**
 * Called after each change of a task.
 *
 * @param last the last state of a task that has expired. Otherwise `state` has the newest one.
 */
type TaskListener = (principal: string | undefined, id: string, last?: DetailedTask) => void;

/** A task that a caller can follow here. */
export interface VisibleTask {
  readonly status: Task['status'];
  /** Called when the caller no longer listens. Given if the task runs elsewhere. */
  readonly unfollow: (() => void) | undefined;
}

/**
 * The tasks of a server: tool calls that run while their callers poll (the tasks extension,
 * `io.modelcontextprotocol/tasks`).
 */
export class Tasks {
  readonly #store: TaskStore;
  readonly #reads: TaskReads;
  readonly #runner: string;
  readonly #isAlive: KeptTasks['isAlive'];
  readonly #others: OtherRunners | undefined;
  readonly #followed: FollowedTasks | undefined;
  readonly #leave: () => void;
  readonly #onchange: TaskListener;
  readonly #onerror: (error: Error) => void;
  readonly #running = new Map<string, RunningTask>();
  /**
   * Counts the memory of the requests of running tasks, of the answers to their questions, and of outcomes that wait for the
   * store. A store counts only tasks and their results.
   */
  readonly #quota = new Quota(MAX_SIZE, MAX_PRINCIPAL_SIZE);
  #recovered: Promise<void> | undefined;
  #closed = false;
  readonly #idle = new Waiters();

  constructor(
    { store = memoryTaskStore(), runner, isAlive, bus }: KeptTasks,
    onchange: TaskListener,
    onerror: (error: Error) => void,
  ) {
    this.#store = store;
    this.#reads = new TaskReads(store);
    this.#isAlive = isAlive;
    this.#runner = runner ?? randomUUID();
    // A random name is new, so no tasks were left behind under it.
    if (runner === undefined || isAlive) this.#recovered = Promise.resolve();
    this.#onchange = onchange;
    this.#onerror = onerror;
    this.#others = isAlive && bus && new OtherRunners(bus, isAlive);
    this.#followed = this.#others && new FollowedTasks(this.#others, ({ principal, id }) => onchange(principal, id));
    const ends = [
      store.onlost?.(() => {
        this.#recovered = this.#recover();
      }),
      this.#others?.serve(
        this.#runner,
        (...asked) => this.#take(...asked),
        async (id, principal, ...known) => this.#runningOf(id, principal)?.nextChange(...known) ?? 'over',
      ),
    ];
    this.#leave = () => {
      for (const end of ends) end?.();
    };
  }

  /**
   * Runs a tool, as a task if its caller supports tasks.
   *
   * @throws RpcError −32021 (rejects) if the tool requires a task and the caller did not declare the extension; −32603
   * if the tool requires a task and no more tasks are accepted.
   */
  async call(settings: TaskSettings, origin: Exchange, run: RunTool): Promise<JsonObject> {
    if (settings.required) demandTasks(origin.caller);
    if (!supportsTasks(origin.caller)) return run(origin, () => Promise.resolve(false));
    const exchange = new TaskExchange(origin);
    let over = false;
    let starting: Promise<boolean> | undefined;
    const announced = new Deferred<JsonObject>();
    const create = async (options: StartTaskOptions): Promise<boolean> => {
      exchange.signal.throwIfAborted();
      const task = await this.#create(settings, exchange, origin.params, options);
      if (task && (over || exchange.signal.aborted)) {
        // The handler did not wait, or its caller has left, so no client ever gets the id.
        await task.end({ status: 'cancelled', statusMessage: 'The call ended before it became a task' });
        return false;
      }
      exchange.task = task;
      if (task) announced.resolve(created(task.record));
      return task !== undefined;
    };
    const start: StartTask = (options) => {
      if (options.statusMessage !== undefined) exchange.task?.describe(options.statusMessage);
      return (starting ??= create(options));
    };
    if (settings.start === 'at-once') {
      await start({});
      if (!exchange.task) exchange.signal.throwIfAborted();
    }
    const work = run(exchange, start);
    const end = (): void => {
      over = true;
      if (exchange.task) this.#finish(exchange.task, exchange, work, start, run).catch(this.#onerror);
    };
    work.then(end, end);
    return Promise.race([announced.promise, work]);
  }

  /** `tasks/get`. @throws RpcError −32021, −32602 (tasks extension: Protocol Errors). */
  async get(exchange: Exchange): Promise<JsonObject> {
    return { resultType: 'complete', ...detailed(await this.#find(exchange)) };
  }

  /**
   * `tasks/update`. @throws RpcError −32021, −32602; −32603 if another process runs the task and cannot be reached.
   */
  async update(exchange: Exchange): Promise<JsonObject> {
    const record = await this.#find(exchange);
    const { inputResponses } = exchange.params;
    if (!isObject(inputResponses)) {
      throw new RpcError(ErrorCode.InvalidParams, 'Invalid params: "inputResponses" must be an object');
    }
    await this.#ask(record, { inputResponses });
    return { resultType: 'complete' };
  }

  /** `tasks/cancel`. @throws RpcError −32021, −32602. */
  async cancel(exchange: Exchange): Promise<JsonObject> {
    await this.#ask(await this.#find(exchange), { cancel: true });
    return { resultType: 'complete' };
  }

  /**
   * Filters the ids to the tasks that the caller can follow here: its own tasks, unless another process runs them and cannot
   * be reached. A task may be large, so they are read one by one.
   */
  async visible(ids: readonly string[], caller: Caller): Promise<Map<string, VisibleTask>> {
    const visible = new Map<string, VisibleTask>();
    await inTurns(ids, async (id) => {
      const read = (): Promise<TaskRecord | undefined> => this.#read(id, caller);
      let record = await read();
      const isFixed = (): boolean => record === undefined || isTerminal(record.status) || this.#running.has(id);
      let unfollow: (() => void) | undefined;
      if (!isFixed()) {
        unfollow = await this.#followed?.follow(record!);
        record = await read();
      }
      if (record && (unfollow || isFixed())) visible.set(id, { status: record.status, unfollow });
    });
    return visible;
  }

  /**
   * The task as it is now. Undefined if this principal has no such task, or no longer. Others wait for this, so it does not
   * wait for further reads of the principal.
   */
  async state(id: string, principal: string | undefined): Promise<DetailedTask | undefined> {
    const record = await this.#current(id, () => this.#reads.one(id, principal));
    return record && detailed(record);
  }

  /**
   * Refuses new tasks and fires the signals of running ones. A task that still runs after the timeout fails. A task
   * that ends before gets its handler's result, unless that is an error.
   *
   * @param timeout milliseconds.
   */
  async close(timeout: number): Promise<void> {
    this.#closed = true;
    await this.#end(timeout);
    this.#leave();
  }

  async #end(timeout: number): Promise<void> {
    if (this.#running.size === 0) return;
    const reason = new RpcError(ErrorCode.InternalError, STOPPED);
    const idle = this.#idle.wait({ timeout: Math.max(1, timeout) });
    for (const task of this.#running.values()) task.interrupt(reason);
    await idle;
    await Promise.all([...this.#running.values()].map((task) => task.close(failure(reason))));
  }

  /** Lets the runner of a task do something with it. Nothing is done with a task that has ended. */
  async #ask(record: TaskRecord, request: TaskRequest): Promise<void> {
    if (await this.#take(record.id, record.principal, request)) return;
    if (isTerminal(record.status)) return;
    const isElsewhere = this.#others && record.runner !== this.#runner;
    try {
      if (isElsewhere && (await this.#others.ask(record, request))) return;
    } catch (error) {
      // A runner learns from the store that its task was cancelled.
      if (!('cancel' in request && error instanceof Unreachable)) throw error;
    }
    if ('cancel' in request) return void (await this.#reach(this.#replace(record, CANCELLED)));
    if (isElsewhere) {
      // It has ended meanwhile, or its process has.
      const now = await this.#read(record.id, record);
      if (now && !isTerminal(now.status)) throw new Unreachable();
      return;
    }
    const why = 'another server runs it; route requests for a task by their Mcp-Name header';
    throw new RpcError(ErrorCode.InternalError, `The task cannot be answered here: ${why}`);
  }

  /** Does something with a task that runs here. Returns false if it does not. */
  async #take(id: string, principal: string | undefined, request: TaskRequest): Promise<boolean> {
    const task = this.#runningOf(id, principal);
    if (!task) return false;
    if ('cancel' in request) await task.end(CANCELLED);
    else {
      // The handler may keep answers for any time, so they are limited.
      if (!this.#admit(task, request.inputResponses))
        throw new RpcError(ErrorCode.InternalError, 'There is no room for an answer of this size now; try again later');
      await task.answer(request.inputResponses);
    }
    return true;
  }

  #runningOf(id: string, principal: string | undefined): RunningTask | undefined {
    const task = this.#running.get(id);
    return task?.principal === principal ? task : undefined;
  }

  /** Undefined if there are too many tasks and the tool does not require one. */
  async #create(
    { required, ttlMs, pollIntervalMs }: TaskSettings,
    { caller, controller }: TaskExchange,
    params: JsonObject,
    { statusMessage }: StartTaskOptions,
  ): Promise<RunningTask | undefined> {
    try {
      if (this.#closed) throw new TaskStoreFull('The server is shutting down');
      await (this.#recovered ??= this.#recover());
      const now = Date.now();
      const record: TaskRecord = {
        id: randomBytes(24).toString('base64url'),
        ...ownerOf(caller),
        runner: this.#runner,
        status: 'working',
        ...(statusMessage === undefined ? {} : { statusMessage }),
        createdAt: now,
        lastUpdatedAt: now,
        ttlMs,
        pollIntervalMs,
      };
      const task: RunningTask = new RunningTask(record, {
        store: this.#store,
        controller,
        caller,
        admit: (outcome) => this.#admit(task, outcome),
        onchange: () => this.#onchange(record.principal, record.id),
        onexpired: (last) => this.#onchange(record.principal, record.id, detailed(last)),
        onover: () => this.#forget(task),
        onerror: this.#onerror,
      });
      if (!this.#admit(task, params)) throw new TaskStoreFull('The running tasks take too much memory');
      this.#running.set(record.id, task);
      try {
        await this.#store.create(record);
      } catch (error) {
        this.#forget(task);
        throw error;
      }
      task.begin();
      return task;
    } catch (error) {
      if (!(error instanceof TaskStoreFull)) this.#onerror(error as Error);
      if (!required) return undefined;
      throw new RpcError(ErrorCode.InternalError, 'The server has too many tasks; try again later', { cause: error });
    }
  }

  /** Ends a task with the outcome of its handler. */
  async #finish(
    task: RunningTask,
    exchange: TaskExchange,
    work: Promise<JsonObject>,
    start: StartTask,
    run: RunTool,
  ): Promise<void> {
    try {
      const result = await completeRounds((again) => run(again, start), exchange, await work);
      if (this.#closed && result['isError']) throw new RpcError(ErrorCode.InternalError, STOPPED);
      await task.end({ status: 'completed', result: { resultType: 'complete', ...result } });
    } catch (error) {
      await task.end(failure(RpcError.from(error)));
    }
  }

  /** Counts the memory of a task. Returns false, and counts nothing, if there is no room. */
  #admit(task: RunningTask, value: JsonObject | Outcome): boolean {
    const most = task.principal === undefined ? MAX_SIZE * PART_OF_ONE : MAX_PRINCIPAL_SIZE;
    const size = weightOf(value, most);
    if (!this.#quota.take(task.share, size, most)) return false;
    task.size += size;
    return true;
  }

  #forget(task: RunningTask): void {
    if (!this.#running.delete(task.id)) return;
    this.#quota.giveBack(task.share, task.size);
    if (this.#running.size === 0) this.#idle.wake();
  }

  /**
   * @throws RpcError −32602, with the same message whether the task never existed, has expired or belongs to another
   * caller.
   */
  async #find({ params, caller, signal }: Exchange): Promise<TaskRecord> {
    demandTasks(caller);
    const { taskId } = params;
    if (typeof taskId !== 'string') {
      throw new RpcError(ErrorCode.InvalidParams, 'Invalid params: "taskId" must be a string');
    }
    const record = await this.#read(taskId, caller, signal);
    if (!record)
      throw new RpcError(ErrorCode.InvalidParams, 'Task not found: there is no task with this id, or it has expired');
    return record;
  }

  async #read(id: string, owner: Partial<Owner>, signal?: AbortSignal): Promise<TaskRecord | undefined> {
    const record = await this.#current(id, () => this.#reads.get(id, owner, signal), signal);
    // Others may be able to write to the store, and may have given the task to themselves.
    return record?.principal === owner.principal ? record : undefined;
  }

  async #current(
    id: string,
    read: () => Promise<TaskRecord | undefined>,
    signal?: AbortSignal,
  ): Promise<TaskRecord | undefined> {
    if (id.length > MAX_ID) return undefined;
    await (this.#recovered ??= this.#recover());
    const record = await this.#reach(read(), signal);
    if (!record) return undefined;
    if (this.#isOrphan(record)) return this.#reach(this.#endOrphan(record));
    if (await this.#reach(this.#isAbandoned(record))) return this.#reach(this.#replace(record, ended(KILLED)));
    return record;
  }

  /** Store errors are reported to the server, and hidden from callers. */
  async #reach<T>(stored: Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await stored;
    } catch (error) {
      signal?.throwIfAborted();
      this.#onerror(error as Error);
      throw new RpcError(ErrorCode.InternalError, 'The task store cannot be reached; try again later');
    }
  }

  /** Whether a task belongs to this runner, and is not running. */
  #isOrphan({ id, runner, status }: TaskRecord): boolean {
    return runner === this.#runner && !isTerminal(status) && !this.#running.has(id);
  }

  /** Whether a task belongs to a runner that has ended. */
  async #isAbandoned({ runner, status }: TaskRecord): Promise<boolean> {
    return this.#isAlive !== undefined && !isTerminal(status) && !(await this.#isAlive(runner));
  }

  /** With `isAlive`, a runner has a new name after each start. So it has run the task itself. */
  #endOrphan(record: TaskRecord): Promise<TaskRecord | undefined> {
    return this.#replace(record, ended(this.#isAlive ? LOST : STOPPED));
  }

  /**
   * Ends the tasks of this runner that do not run: it has stopped meanwhile, or the store has lost their end. Those that run
   * restore their questions, or end if another process has ended them, because this one was suspended.
   */
  async #recover(): Promise<void> {
    try {
      const missing = new Map(this.#running);
      for await (const record of this.#store.unfinished(this.#runner)) {
        missing.delete(record.id);
        if (this.#isOrphan(record)) await this.#endOrphan(record);
        else this.#running.get(record.id)?.restore(record);
      }
      for (const task of missing.values()) await task.findEnd();
    } catch (error) {
      // The next request tries again.
      this.#recovered = undefined;
      this.#onerror(error as Error);
    }
  }

  /** Ends a task that does not run in this process. */
  #replace({ id, principal }: TaskRecord, outcome: Partial<TaskRecord>): Promise<TaskRecord | undefined> {
    return this.#store.update(id, principal, ({ inputRequests: _questions, ...task }) => ({
      ...task,
      ...outcome,
      lastUpdatedAt: Math.max(Date.now(), task.lastUpdatedAt),
    }));
  }
}

/** Whose a task is, and whose part of the limits it uses. */
function ownerOf({ principal, address }: Caller): Pick<TaskRecord, 'principal' | 'share'> {
  if (principal !== undefined) return { principal };
  return address === undefined ? {} : { share: storedShareOf({ principal, address }) };
}

/** The outcome of a task whose handler has ended with its process. */
function ended(message: string): Partial<TaskRecord> {
  return failure(new RpcError(ErrorCode.InternalError, message));
}
