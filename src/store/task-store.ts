import type { ErrorObject, JsonObject } from '../jsonrpc/message.ts';
import type { TaskStatus } from '../protocol/tasks.ts';

/** A task as it is kept. JSON alone, so that a store may write it as text; properties that are undefined may be left out. */
export interface TaskRecord {
  /** At least 128 bits of randomness: nobody guesses it (tasks extension: Security Considerations). */
  readonly id: string;
  /** Whose task it is; undefined where callers are not authenticated. */
  readonly principal?: string | undefined;
  /** The server that works on it, by its name among those that share the store. */
  readonly runner: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string | undefined;
  /** Milliseconds since 1970, as is `lastUpdatedAt`. */
  readonly createdAt: number;
  readonly lastUpdatedAt: number;
  /** Milliseconds from its creation after which it is gone; null where it stays until the store's own bound. */
  readonly ttlMs: number | null;
  /** Milliseconds that a client should leave between two looks. */
  readonly pollIntervalMs: number;
  /** The questions that wait for answers, by their keys. */
  readonly inputRequests?: JsonObject | undefined;
  readonly result?: JsonObject | undefined;
  readonly error?: ErrorObject | undefined;
}

/**
 * Keeps tasks, for as long as their `ttlMs` says and no longer (tasks extension: Tasks).
 *
 * Everything is scoped by principal: a task of one is to any other as if it never was. A task that is over never changes
 * again. Bounded in number and bytes, of all and of one principal: a full store refuses new tasks and does not give up
 * those that it has. Safe to call concurrently.
 */
export interface TaskStore {
  /**
   * Keeps a new task; resolves when `get` of any process that shares the store would find it (tasks extension: Task
   * Creation).
   *
   * @throws TaskStoreFull where a bound would be exceeded, Error where the id is taken.
   */
  create(task: TaskRecord): Promise<void>;
  /** The task, or undefined where there is none of this principal, or its time is over. */
  get(id: string, principal: string | undefined): Promise<TaskRecord | undefined>;
  /**
   * Replaces a task by what `change` makes of it, in one step: nobody else's change comes between. `change` has no effects
   * of its own, and may be called again where another process was first; it leaves `id`, `principal`, `runner` and
   * `createdAt` as they are. It is not called for a task that is over.
   *
   * @returns the task as it is now; undefined as with `get`.
   * @throws TaskStoreFull where a bound would be exceeded, TypeError where what `change` made is not JSON; nothing has
   * changed then.
   */
  update(
    id: string,
    principal: string | undefined,
    change: (task: TaskRecord) => TaskRecord,
  ): Promise<TaskRecord | undefined>;
  /** Forgets a task. Nothing happens where there is none of this principal. */
  delete(id: string, principal: string | undefined): Promise<void>;
  /**
   * The tasks of a runner that are not over, whosever they are. Asked for once by a runner that starts: what it left
   * behind when it ended cannot go on.
   */
  unfinished(runner: string): AsyncIterable<TaskRecord>;
}

/** There is no room for a task, or for what was to be kept with it. */
export class TaskStoreFull extends Error {
  override readonly name = 'TaskStoreFull';
}
