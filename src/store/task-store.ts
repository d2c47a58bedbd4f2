import type { ErrorObject, JsonObject } from '../jsonrpc/message.ts';
import type { TaskStatus } from '../protocol/tasks.ts';

/** A stored task. It contains only JSON, so a store may write it as text. Undefined properties may be left out. */
export interface TaskRecord {
  /** At least 128 bits of randomness, so that nobody can guess it (tasks extension: Security Considerations). */
  readonly id: string;
  /** The owner of the task; undefined if callers are not authenticated. */
  readonly principal?: string | undefined;
  /** Who the task counts towards in the limits of the store if it has no principal: a hash of the address, if known. */
  readonly share?: string | undefined;
  /** The server that runs the task, by its name among the servers that share the store. */
  readonly runner: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string | undefined;
  /** Milliseconds since 1970, as is `lastUpdatedAt`. */
  readonly createdAt: number;
  readonly lastUpdatedAt: number;
  /** Lifetime in milliseconds from its creation. Null means that only the store's own limit applies. */
  readonly ttlMs: number | null;
  /** Minimum milliseconds between two polls of a client. */
  readonly pollIntervalMs: number;
  /** The open questions by key. */
  readonly inputRequests?: JsonObject | undefined;
  readonly result?: JsonObject | undefined;
  readonly error?: ErrorObject | undefined;
}

/**
 * Keeps tasks for their `ttlMs` and no longer (tasks extension: Tasks).
 *
 * Everything is scoped by principal: a task of one principal does not exist for others. A finished task never changes.
 * The store is bounded in number and bytes, in total and per principal. A share without a
 * principal may have seven eighths of both. A full store refuses new tasks and keeps the
 * existing ones. Safe to call concurrently.
 */
export interface TaskStore {
  /**
   * Stores a new task. Resolves when `get` finds it in every process that shares the store (tasks extension: Task
   * Creation).
   *
   * @throws TaskStoreFull if a bound would be exceeded, Error if the id exists already.
   */
  create(task: TaskRecord): Promise<void>;
  /** The task. Undefined if it has expired, or if this principal has no such task. */
  get(id: string, principal: string | undefined): Promise<TaskRecord | undefined>;
  /**
   * Replaces a task by the result of `change`, atomically. `change` must have no side effects, because it is called again
   * if another process was faster. It must not change `id`, `principal`, `runner` and `createdAt`. It is not called for a
   * finished task.
   *
   * @returns the task as it is now; undefined as with `get`.
   * @throws TaskStoreFull if a bound would be exceeded, TypeError if the result of `change` is not JSON. The task is then
   * unchanged.
   */
  update(
    id: string,
    principal: string | undefined,
    change: (task: TaskRecord) => TaskRecord,
  ): Promise<TaskRecord | undefined>;
  /** Removes a task. Does nothing if this principal has no such task. */
  delete(id: string, principal: string | undefined): Promise<void>;
  /**
   * The unfinished tasks of a runner, of all principals. A runner calls it once when it starts, because tasks from before
   * its restart cannot continue, and whenever the store may have lost its newest changes.
   */
  unfinished(runner: string): AsyncIterable<TaskRecord>;
  /**
   * Calls a listener whenever the store may have lost its newest changes, as after a failover. Left out if that cannot happen.
   *
   * @returns a function that takes the listener back.
   */
  onlost?(listener: () => void): () => void;
}

/** There is no room for a task or for its new content. */
export class TaskStoreFull extends Error {
  override readonly name = 'TaskStoreFull';
}
