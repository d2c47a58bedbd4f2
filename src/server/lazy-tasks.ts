import type { Tasks } from './tasks.ts';

/**
 * The server's access to its tasks. The code for tasks is loaded only when a tool works as a task: most servers have
 * none.
 */
export class LazyTasks {
  /** Whether any tool works as a task, or has ever done so. */
  used = false;
  readonly #make: (constructor: typeof Tasks) => Tasks;
  #tasks: Promise<Tasks> | undefined;

  /** @param make creates the tasks when they are first used. */
  constructor(make: (constructor: typeof Tasks) => Tasks) {
    this.#make = make;
  }

  load(): Promise<Tasks> {
    return (this.#tasks ??= import('./tasks.ts').then((module) => this.#make(module.Tasks)));
  }

  /** See `Tasks.close`. */
  async close(timeout: number): Promise<void> {
    await (await this.#tasks)?.close(timeout);
  }
}
