import { isTerminal } from '../protocol/tasks.ts';
import { TaskStoreFull, type TaskRecord, type TaskStore } from './task-store.ts';

/** The bounds of a task store in memory. */
export interface MemoryTaskStoreOptions {
  /** How many tasks there may be. Default 10 000. */
  maxTasks?: number | undefined;
  /** How many tasks one principal may have; callers without one have this bound not. Default 1 000. */
  maxPerPrincipal?: number | undefined;
  /** How many bytes of JSON all tasks together may be, with their results. Default 256 MiB. */
  maxBytes?: number | undefined;
  /** How many bytes of JSON one task may be. Default 16 MiB. */
  maxTaskBytes?: number | undefined;
  /** How long a task without a `ttlMs` is kept when it is over, in milliseconds. Default 24 hours. */
  maxAge?: number | undefined;
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  now?: (() => number) | undefined;
}

interface Kept {
  readonly principal: string | undefined;
  readonly runner: string;
  /** The record as JSON: nobody can change it from outside. */
  readonly text: string;
  readonly bytes: number;
  readonly terminal: boolean;
  /** When it goes, in milliseconds since 1970. */
  readonly until: number;
}

/**
 * Keeps tasks in this process; they end with it. What has expired goes with the next use of the store that could miss the
 * room; there is no timer.
 *
 * @throws RangeError where a bound is negative or not a number.
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
  /** No task goes before this moment. */
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
    // Its time may have been over between two looks at it.
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
