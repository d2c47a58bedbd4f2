import type { DetailedTask } from '../protocol/tasks.ts';
import type { TasksOptions } from './task-rules.ts';
import type { Tasks } from './tasks.ts';

/**
 * The server's access to its tasks. The code for tasks is loaded only when a tool works as a task: most servers have
 * none.
 */
export class LazyTasks {
  /** Called after each change of a task, with its principal and the task. */
  onchange: ((principal: string | undefined, task: DetailedTask) => void) | undefined;
  /** Whether any tool works as a task, or did before. */
  used = false;
  readonly #options: TasksOptions;
  readonly #onerror: (error: Error) => void;
  #tasks: Promise<Tasks> | undefined;

  constructor(options: TasksOptions, onerror: (error: Error) => void) {
    this.#options = options;
    this.#onerror = onerror;
  }

  load(): Promise<Tasks> {
    return (this.#tasks ??= import('./tasks.ts').then(({ Tasks }) => {
      const tasks = new Tasks(this.#options, this.#onerror);
      tasks.onchange = (principal, task) => this.onchange?.(principal, task);
      return tasks;
    }));
  }

  /** See `Tasks.close`. */
  async close(timeout: number): Promise<void> {
    await (await this.#tasks)?.close(timeout);
  }
}
