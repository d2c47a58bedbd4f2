import { checkBounds } from '../base/bounds.ts';
import { PART_OF_ONE } from '../base/share.ts';
import { isTerminal } from '../protocol/tasks.ts';
import { TaskStoreFull, type TaskRecord, type TaskStore } from './task-store.ts';
import { Unconfirmed } from './unconfirmed.ts';

/** The bounds of a task store in memory. */
export interface MemoryTaskStoreOptions {
  /** Maximum number of tasks. Default 10 000. */
  maxTasks?: number | undefined;
  /** Maximum number of tasks of one principal. It does not apply to callers without a principal. Default 1 000. */
  maxPerPrincipal?: number | undefined;
  /**
   * Maximum size of all tasks together with their results, in bytes of JSON. One principal may use seven
   * eighths of it. Default 256 MiB.
   */
  maxBytes?: number | undefined;
  /** Maximum size of one task in bytes of JSON. Default 16 MiB. */
  maxTaskBytes?: number | undefined;
  /** How long a task without a `ttlMs` is kept after it has ended, in milliseconds. Default 24 hours. */
  maxAge?: number | undefined;
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  now?: (() => number) | undefined;
}

/** Who has a limit of its own for a task. Undefined if only the total limit applies. */
function ownerOf({ principal, share }: Pick<TaskRecord, 'principal' | 'share'>): string | undefined {
  if (principal !== undefined) return `principal ${principal}`;
  return share === undefined ? undefined : `share ${share}`;
}

/** The number and size of the tasks of one owner. */
interface Share {
  readonly tasks: number;
  readonly bytes: number;
}

const NOTHING: Share = { tasks: 0, bytes: 0 };

/** What is known of a task without its text. */
export interface KeptTask {
  readonly principal: string | undefined;
  /** See `TaskRecord`. */
  readonly share?: string | undefined;
  readonly runner: string;
  readonly bytes: number;
  readonly terminal: boolean;
  /** When the task expires, in milliseconds since 1970. */
  readonly until: number;
}

/** Where the JSON text of each task is. */
export interface TaskTexts {
  read(id: string): string | undefined;
  write(id: string, text: string, kept: KeptTask): Promise<unknown>;
  remove(id: string): Promise<unknown>;
}

/**
 * Keeps tasks in the memory of this process. Expired tasks are removed when the store needs their room. There is no
 * timer.
 *
 * @throws RangeError if a limit is negative or not a number.
 */
export function memoryTaskStore(options: MemoryTaskStoreOptions = {}): TaskStore {
  const texts = new Map<string, string>();
  return new IndexedTasks(options, {
    read: (id) => texts.get(id),
    write: async (id, text) => void texts.set(id, text),
    remove: async (id) => void texts.delete(id),
  });
}

/** The limits of a task store, with what the options leave out. */
export type TaskBounds = Required<Omit<MemoryTaskStoreOptions, 'now'>>;

/** @throws RangeError if a limit is negative or not a number. */
export function taskBounds(options: MemoryTaskStoreOptions): TaskBounds {
  const {
    maxTasks = 10_000,
    maxPerPrincipal = 1000,
    maxBytes = 256 * 1024 * 1024,
    maxTaskBytes = 16 * 1024 * 1024,
    maxAge = 24 * 3_600_000,
  } = options;
  const bounds = { maxTasks, maxPerPrincipal, maxBytes, maxTaskBytes, maxAge };
  checkBounds(bounds);
  return bounds;
}

/** Applies the limits of a task store. */
export class IndexedTasks implements TaskStore {
  readonly #tasks = new Map<string, KeptTask>();
  readonly #texts: TaskTexts;
  /** By owner. Tasks of no owner have no limit of their own. */
  readonly #shares = new Map<string | undefined, Share>();
  readonly #bounds: TaskBounds;
  readonly #now: () => number;
  #bytes = 0;
  /** No task expires before this time. */
  #quietUntil = Number.POSITIVE_INFINITY;
  readonly #unconfirmed = new Unconfirmed<KeptTask>((id, kept) => {
    this.#forget(id);
    if (kept) this.#add(id, kept);
  });

  /** @throws RangeError if a limit is negative or not a number. */
  constructor(options: MemoryTaskStoreOptions, texts: TaskTexts) {
    this.#bounds = taskBounds(options);
    this.#now = options.now ?? (() => Date.now());
    this.#texts = texts;
  }

  /** Adds a stored task to the index. */
  restore(id: string, kept: KeptTask): void {
    this.#add(id, kept);
  }

  get size(): number {
    return this.#tasks.size;
  }

  /** Removes all tasks that have expired. */
  expire(): void {
    this.#sweep();
  }

  async create(task: TaskRecord): Promise<void> {
    const { maxTasks, maxPerPrincipal } = this.#bounds;
    const { text, kept } = this.#keep(task);
    this.#checkSize(kept);
    this.#sweep();
    if (this.#tasks.has(task.id)) throw new Error('A task with this id already exists');
    if (this.#tasks.size >= maxTasks) throw new TaskStoreFull(`There are already ${maxTasks} tasks`);
    const most = task.principal === undefined ? maxTasks * PART_OF_ONE : maxPerPrincipal;
    const owner = ownerOf(task);
    if (owner !== undefined && this.#shareOf(owner).tasks >= most) {
      throw new TaskStoreFull(`This caller already has ${Math.ceil(most)} tasks`);
    }
    this.#checkRoom(kept.bytes, owner);
    this.#add(task.id, kept);
    await this.#unconfirmed.write(task.id, undefined, kept, () => this.#texts.write(task.id, text, kept));
  }

  async get(id: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    return this.#read(id, this.#find(id, principal));
  }

  update(
    id: string,
    principal: string | undefined,
    change: (task: TaskRecord) => TaskRecord,
  ): Promise<TaskRecord | undefined> {
    return this.#update(id, principal, change, (kept, before) => {
      this.#checkSize(kept);
      this.#sweep();
      this.#checkRoom(kept.bytes - before.bytes, ownerOf(before));
    });
  }

  /** Like `update`, but takes the change without a look at the limits. For small changes that must not fail. */
  updateAnyway(
    id: string,
    principal: string | undefined,
    change: (task: TaskRecord) => TaskRecord,
  ): Promise<TaskRecord | undefined> {
    return this.#update(id, principal, change, () => {});
  }

  async #update(
    id: string,
    principal: string | undefined,
    change: (task: TaskRecord) => TaskRecord,
    check: (kept: KeptTask, before: KeptTask) => void,
  ): Promise<TaskRecord | undefined> {
    const before = this.#find(id, principal);
    const task = this.#read(id, before);
    if (!before || !task || before.terminal) return task;
    const { text, kept } = this.#keep(change(task));
    check(kept, before);
    this.#forget(id);
    this.#add(id, kept);
    await this.#unconfirmed.write(id, before, kept, () => this.#texts.write(id, text, kept));
    return JSON.parse(text) as TaskRecord;
  }

  async delete(id: string, principal: string | undefined): Promise<void> {
    const kept = this.#find(id, principal);
    if (!kept) return;
    await this.#remove(id, kept);
  }

  async *unfinished(runner: string): AsyncGenerator<TaskRecord> {
    for (const [id, kept] of [...this.#tasks]) {
      if (kept.runner !== runner || kept.terminal) continue;
      const task = this.#read(id, this.#find(id, kept.principal));
      if (task) yield task;
    }
  }

  #read(id: string, kept: KeptTask | undefined): TaskRecord | undefined {
    const text = kept && this.#texts.read(id);
    return text === undefined ? undefined : (JSON.parse(text) as TaskRecord);
  }

  #find(id: string, principal: string | undefined): KeptTask | undefined {
    const kept = this.#tasks.get(id);
    if (!kept || kept.principal !== principal) return undefined;
    if (kept.until > this.#now()) return kept;
    this.#expire(id, kept);
    return undefined;
  }

  /** @throws TypeError if the task is not JSON. */
  #keep(task: TaskRecord): { text: string; kept: KeptTask } {
    const { maxAge } = this.#bounds;
    const text = JSON.stringify(task);
    const bytes = Buffer.byteLength(text);
    const terminal = isTerminal(task.status);
    let until = Number.POSITIVE_INFINITY;
    if (task.ttlMs !== null) until = task.createdAt + task.ttlMs;
    else if (terminal) until = task.lastUpdatedAt + maxAge;
    const { principal, share, runner } = task;
    return { text, kept: { principal, share, runner, bytes, terminal, until } };
  }

  #checkSize({ bytes }: KeptTask): void {
    const { maxTaskBytes } = this.#bounds;
    if (bytes > maxTaskBytes) throw new TaskStoreFull(`A task must not be larger than ${maxTaskBytes} bytes`);
  }

  #checkRoom(bytes: number, owner: string | undefined): void {
    const { maxBytes } = this.#bounds;
    if (this.#bytes + bytes > maxBytes) {
      throw new TaskStoreFull(`All tasks together must not be larger than ${maxBytes} bytes`);
    }
    const most = maxBytes * PART_OF_ONE;
    if (owner !== undefined && this.#shareOf(owner).bytes + bytes > most) {
      throw new TaskStoreFull(`The tasks of one caller must not be larger than ${most} bytes`);
    }
  }

  #shareOf(owner: string | undefined): Share {
    return this.#shares.get(owner) ?? NOTHING;
  }

  #count(owner: string | undefined, tasks: number, bytes: number): void {
    this.#bytes += bytes;
    const share = this.#shareOf(owner);
    const now = { tasks: share.tasks + tasks, bytes: share.bytes + bytes };
    if (now.tasks > 0) this.#shares.set(owner, now);
    else this.#shares.delete(owner);
  }

  #add(id: string, kept: KeptTask): void {
    this.#tasks.set(id, kept);
    this.#quietUntil = Math.min(this.#quietUntil, kept.until);
    this.#count(ownerOf(kept), 1, kept.bytes);
  }

  /** Does nothing if there is no such task: it may have expired since the last check. */
  #forget(id: string): void {
    const kept = this.#tasks.get(id);
    if (!kept) return;
    this.#tasks.delete(id);
    this.#count(ownerOf(kept), -1, -kept.bytes);
  }

  #remove(id: string, kept: KeptTask): Promise<void> {
    this.#forget(id);
    return this.#unconfirmed.write(id, kept, undefined, () => this.#texts.remove(id));
  }

  /** If the text of the task cannot be removed now, it is removed later. */
  #expire(id: string, kept: KeptTask): void {
    this.#remove(id, kept).catch(() => {});
  }

  #sweep(): void {
    const now = this.#now();
    // Stryker disable next-line ConditionalExpression: only saves time
    if (now < this.#quietUntil) return;
    this.#quietUntil = Number.POSITIVE_INFINITY;
    for (const [id, kept] of this.#tasks) {
      if (kept.until <= now) this.#expire(id, kept);
      else this.#quietUntil = Math.min(this.#quietUntil, kept.until);
    }
  }
}
