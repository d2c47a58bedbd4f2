/**
 * The newest tasks of all principals, up to a limit. Above it, the principal with the most loses its oldest one, so that
 * one principal does not make the bridge forget the tasks of others.
 */
export class KnownTasks {
  readonly #max: number;
  readonly #tasks = new Map<string, Set<string>>();
  #count = 0;

  /** @param max how many tasks are remembered. */
  constructor(max: number) {
    this.#max = max;
  }

  has(principal: string, task: string): boolean {
    return this.#tasks.get(principal)?.has(task) === true;
  }

  /** Adds a task, or makes it the newest of its principal. */
  add(principal: string, task: string): void {
    const own = this.#tasks.get(principal) ?? new Set();
    this.#tasks.set(principal, own);
    if (!own.delete(task)) this.#count += 1;
    own.add(task);
    if (this.#count > this.#max) this.#forgetOne();
  }

  #forgetOne(): void {
    let most: [principal: string, tasks: Set<string>] | undefined;
    for (const each of this.#tasks) if (!most || each[1].size > most[1].size) most = each;
    const [principal, tasks] = most!;
    const [oldest] = tasks;
    tasks.delete(oldest!);
    if (tasks.size === 0) this.#tasks.delete(principal);
    this.#count -= 1;
  }
}
