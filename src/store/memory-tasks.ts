import { isTerminal } from '../protocol/tasks.ts';
import { TaskStoreFull, type TaskRecord, type TaskStore } from './task-store.ts';

/** The bounds of a task store in memory. */
export interface MemoryTaskStoreOptions {
  /** Maximum number of tasks. Default 10 000. */
  maxTasks?: number | undefined;
  /** Maximum number of tasks of one principal. It does not apply to callers without a principal. Default 1 000. */
  maxPerPrincipal?: number | undefined;
  /** Maximum size of all tasks together with their results, in bytes of JSON. Default 256 MiB. */
  maxBytes?: number | undefined;
  /** Maximum size of one task in bytes of JSON. Default 16 MiB. */
  maxTaskBytes?: number | undefined;
  /** How long a task without a `ttlMs` is kept when it is over, in milliseconds. Default 24 hours. */
  maxAge?: number | undefined;
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  now?: (() => number) | undefined;
}

interface Kept {
  readonly principal: string | undefined;
  readonly runner: string;
  /** The record as JSON, so that callers cannot change it. */
  readonly text: string;
  readonly bytes: number;
  readonly terminal: boolean;
  /** When the task expires, in milliseconds since 1970. */
  readonly until: number;
}

/**
 * Keeps tasks in the memory of this process. Expired tasks are removed at the next use of the store that needs the room;
 * there is no timer.
 *
 * @throws RangeError if a bound is negative or not a number.
 */
export function memoryTaskStore(options: MemoryTaskStoreOptions = {}): TaskStore {
  const {
    maxTasks = 10_000,
    maxPerPrincipal = 1000,
    maxBytes = 256 * 1024 * 1024,
    maxTaskBytes = 16 * 1024 * 1024,
    maxAge = 24 * 3_600_000,
    now = () => Date.now(),
  } = options;
  const bounds = { maxTasks, maxPerPrincipal, maxBytes, maxTaskBytes, maxAge };
  for (const [name, bound] of Object.entries(bounds)) {
    if (!(bound >= 0)) throw new RangeError(`${name} must be 0 or more, not ${bound}`);
  }
  return new MemoryTaskStore(bounds, now);
}

type Bounds = Required<Omit<MemoryTaskStoreOptions, 'now'>>;

class MemoryTaskStore implements TaskStore {
  readonly #tasks = new Map<string, Kept>();
  readonly #perPrincipal = new Map<string | undefined, number>();
  readonly #bounds: Bounds;
  readonly #now: () => number;
  #bytes = 0;
  /** No task expires before this time. */
  #quietUntil = Number.POSITIVE_INFINITY;

  constructor(bounds: Bounds, now: () => number) {
    this.#bounds = bounds;
    this.#now = now;
  }

  async create(task: TaskRecord): Promise<void> {
    const { maxTasks, maxPerPrincipal } = this.#bounds;
    const kept = this.#keep(task);
    this.#sweep();
    if (this.#tasks.has(task.id)) throw new Error('There is a task with this id already');
    if (this.#tasks.size >= maxTasks) throw new TaskStoreFull(`There are ${maxTasks} tasks already`);
    if (task.principal !== undefined && (this.#perPrincipal.get(task.principal) ?? 0) >= maxPerPrincipal) {
      throw new TaskStoreFull(`This caller has ${maxPerPrincipal} tasks already`);
    }
    this.#checkRoom(kept.bytes);
    this.#add(task.id, kept);
  }

  async get(id: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    return read(this.#find(id, principal));
  }

  async update(
    id: string,
    principal: string | undefined,
    change: (task: TaskRecord) => TaskRecord,
  ): Promise<TaskRecord | undefined> {
    const before = this.#find(id, principal);
    if (!before || before.terminal) return read(before);
    const after = this.#keep(change(read(before)!));
    this.#sweep();
    this.#checkRoom(after.bytes - before.bytes);
    this.#remove(id, before);
    this.#add(id, after);
    return read(after);
  }

  async delete(id: string, principal: string | undefined): Promise<void> {
    const kept = this.#find(id, principal);
    if (kept) this.#remove(id, kept);
  }

  async *unfinished(runner: string): AsyncGenerator<TaskRecord> {
    for (const [id, kept] of [...this.#tasks]) {
      if (kept.runner !== runner || kept.terminal) continue;
      const task = read(this.#find(id, kept.principal));
      if (task) yield task;
    }
  }

  #find(id: string, principal: string | undefined): Kept | undefined {
    const kept = this.#tasks.get(id);
    if (!kept || kept.principal !== principal) return undefined;
    if (kept.until > this.#now()) return kept;
    this.#remove(id, kept);
    return undefined;
  }

  /** @throws TypeError where the task is not JSON, TaskStoreFull where it is too large by itself. */
  #keep(task: TaskRecord): Kept {
    const { maxTaskBytes, maxAge } = this.#bounds;
    const text = JSON.stringify(task);
    const bytes = Buffer.byteLength(text);
    if (bytes > maxTaskBytes) throw new TaskStoreFull(`A task must not be larger than ${maxTaskBytes} bytes`);
    const terminal = isTerminal(task.status);
    let until = Number.POSITIVE_INFINITY;
    if (task.ttlMs !== null) until = task.createdAt + task.ttlMs;
    else if (terminal) until = task.lastUpdatedAt + maxAge;
    return { principal: task.principal, runner: task.runner, text, bytes, terminal, until };
  }

  #checkRoom(bytes: number): void {
    if (this.#bytes + bytes > this.#bounds.maxBytes) {
      throw new TaskStoreFull(`All tasks together must not be larger than ${this.#bounds.maxBytes} bytes`);
    }
  }

  #add(id: string, kept: Kept): void {
    this.#tasks.set(id, kept);
    this.#bytes += kept.bytes;
    this.#quietUntil = Math.min(this.#quietUntil, kept.until);
    this.#perPrincipal.set(kept.principal, (this.#perPrincipal.get(kept.principal) ?? 0) + 1);
  }

  #remove(id: string, { bytes, principal }: Kept): void {
    // It may have expired since the last check.
    if (!this.#tasks.delete(id)) return;
    this.#bytes -= bytes;
    const left = this.#perPrincipal.get(principal)! - 1;
    if (left > 0) this.#perPrincipal.set(principal, left);
    else this.#perPrincipal.delete(principal);
  }

  #sweep(): void {
    const now = this.#now();
    // Stryker disable next-line ConditionalExpression: it spares the walk, and no more
    if (now < this.#quietUntil) return;
    this.#quietUntil = Number.POSITIVE_INFINITY;
    for (const [id, kept] of this.#tasks) {
      if (kept.until <= now) this.#remove(id, kept);
      else this.#quietUntil = Math.min(this.#quietUntil, kept.until);
    }
  }
}

function read(kept: Kept | undefined): TaskRecord | undefined {
  return kept && (JSON.parse(kept.text) as TaskRecord);
}
