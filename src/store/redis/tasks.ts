import { createHash, randomBytes } from 'node:crypto';
import { PART_OF_ONE } from '../../base/share.ts';
import { isTerminal } from '../../protocol/tasks.ts';
import { taskBounds, type MemoryTaskStoreOptions, type TaskBounds } from '../memory-tasks.ts';
import { TaskStoreFull, type TaskRecord, type TaskStore } from '../task-store.ts';
import { finite, type Commands } from './commands.ts';
import { AGAIN, OneByOne } from './one-by-one.ts';
import { CREATE, DELETE, GET, REPLACE, UNFINISHED } from './task-scripts.ts';

function hashOf(text: string): string {
  return createHash('sha256').update('everwire-redis-task').update(text).digest('base64url').slice(0, 22);
}

function ownerOf(principal: string | undefined): string {
  return principal === undefined ? '-' : hashOf(principal);
}

/** Who has a limit of its own for a task; `-` if only the total limit applies. */
function countedFor({ principal, share }: TaskRecord): string {
  return principal === undefined && share !== undefined ? hashOf(`share ${share}`) : ownerOf(principal);
}

/** Tasks in Redis. A task without a `ttlMs` is kept for `maxAge` after its last change. */
export class RedisTasks implements TaskStore {
  readonly #commands: Commands;
  readonly #bounds: TaskBounds;
  /** The clock. Undefined for that of Redis: those of processes may differ. */
  readonly #now: (() => number) | undefined;
  readonly #changes = new OneByOne();
  readonly #onlost = new Set<() => void>();

  /** @throws RangeError if a limit is negative or not a number. */
  constructor(commands: Commands, options: MemoryTaskStoreOptions) {
    this.#bounds = taskBounds(options);
    this.#commands = commands;
    this.#now = options.now;
  }

  async create(task: TaskRecord): Promise<void> {
    const { maxTasks } = this.#bounds;
    const bounds = [maxTasks, this.#mostOf(task), ...this.#room()].map(finite);
    const refusal = await this.#commands.run(CREATE, ...this.#written(task), ...bounds);
    if (refusal === 'exists') throw new Error('A task with this id already exists');
    this.#check(refusal, this.#mostOf(task));
  }

  async get(id: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    const [text] = await this.#read(id, principal);
    return text === undefined ? undefined : this.#parse(text);
  }

  update(
    id: string,
    principal: string | undefined,
    change: (task: TaskRecord) => TaskRecord,
  ): Promise<TaskRecord | undefined> {
    return this.#changes.change(id, 'task', async () => {
      const [text, tag, over] = await this.#read(id, principal);
      if (text === undefined || tag === undefined) return undefined;
      const task = this.#parse(text);
      if (over === '1') return task;
      const changed = change(task);
      const written = this.#written(changed, task);
      const refusal = await this.#commands.run(REPLACE, ...written, ...this.#room().map(finite), tag);
      if (refusal === 'again') return AGAIN;
      this.#check(refusal);
      return JSON.parse(String(written[4])) as TaskRecord;
    });
  }

  async delete(id: string, principal: string | undefined): Promise<void> {
    await this.#changes.run(id, () => this.#commands.run(DELETE, hashOf(id), ownerOf(principal), this.#time));
  }

  async *unfinished(runner: string): AsyncGenerator<TaskRecord> {
    const texts = (await this.#commands.run(UNFINISHED, hashOf(runner), this.#time)) as string[];
    for (const text of texts) yield this.#parse(text);
  }

  onlost(listener: () => void): () => void {
    this.#onlost.add(listener);
    return () => void this.#onlost.delete(listener);
  }

  /** Redis may have lost its newest changes. */
  lost(): void {
    for (const listener of this.#onlost) listener();
  }

  #parse(text: string): TaskRecord {
    return this.#commands.parse(text, this.#bounds.maxTaskBytes) as TaskRecord;
  }

  async #read(id: string, principal: string | undefined): Promise<string[]> {
    return (await this.#commands.run(GET, hashOf(id), ownerOf(principal), this.#time)) as string[];
  }

  /** The time for a script. */
  get #time(): number | '' {
    return this.#now?.() ?? '';
  }

  /** When a task expires, as the scripts need it. @param before the task before a change. */
  #expiry({ ttlMs, createdAt, lastUpdatedAt }: TaskRecord, before: TaskRecord | undefined): number | string {
    const { maxAge } = this.#bounds;
    if (this.#now) return finite(ttlMs === null ? lastUpdatedAt + maxAge : createdAt + ttlMs);
    if (ttlMs === null) return finite(maxAge);
    if (typeof before?.ttlMs === 'number') return `+${finite(ttlMs - before.ttlMs)}`;
    return finite(createdAt + ttlMs - lastUpdatedAt);
  }

  /**
   * @param before the task before a change.
   * @throws TypeError if the task is not JSON. TaskStoreFull if the task alone is too large.
   */
  #written(task: TaskRecord, before?: TaskRecord): (string | number)[] {
    const { maxTaskBytes } = this.#bounds;
    const text = JSON.stringify(task);
    const bytes = Buffer.byteLength(text);
    if (bytes > maxTaskBytes) throw new TaskStoreFull(`A task must not be larger than ${maxTaskBytes} bytes`);
    const { id, principal, runner, status } = task;
    const until = this.#expiry(task, before);
    const tag = randomBytes(9).toString('base64url');
    const names = [hashOf(id), ownerOf(principal), this.#time, hashOf(runner)];
    return [...names, text, tag, isTerminal(status) ? 1 : 0, until, bytes, countedFor(task)];
  }

  /** How many tasks the caller of this one may have. */
  #mostOf({ principal }: TaskRecord): number {
    const { maxTasks, maxPerPrincipal } = this.#bounds;
    return principal === undefined ? Math.ceil(maxTasks * PART_OF_ONE) : maxPerPrincipal;
  }

  /** The limits in bytes, and how long what is known of all tasks is kept. */
  #room(): number[] {
    const { maxBytes, maxAge } = this.#bounds;
    return [maxBytes, maxBytes * PART_OF_ONE, maxAge];
  }

  #check(refusal: unknown, mostOwn?: number): void {
    const { maxTasks, maxBytes } = this.#bounds;
    const messages = new Map<unknown, string>([
      ['tasks', `There are already ${maxTasks} tasks`],
      ['own', `This caller already has ${mostOwn} tasks`],
      ['bytes', `All tasks together must not be larger than ${maxBytes} bytes`],
      ['share', `The tasks of one caller must not be larger than ${maxBytes * PART_OF_ONE} bytes`],
    ]);
    const message = messages.get(refusal);
    if (message !== undefined) throw new TaskStoreFull(message);
  }
}
