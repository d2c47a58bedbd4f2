import type { State } from '../store/state.ts';
import { nodeOf, runnerOf } from './runner-names.ts';
import type { KeptTasks, TasksOptions } from './task-rules.ts';
import type { Tasks } from './tasks.ts';

/** How many servers of this process have used a state of several processes. */
let runners = 0;

/**
 * The server's access to its tasks. The code for tasks is loaded only when a tool works as a task: most servers have
 * none.
 */
export class LazyTasks {
  /** Whether any tool works as a task, or has ever done so. */
  used = false;
  readonly #make: (constructor: typeof Tasks) => Tasks;
  #tasks: Promise<Tasks> | undefined;
  /** Where the tasks are kept, if the server is served with a state. */
  #state: Partial<State> | undefined;
  /** In how many ways the server is served with this state. */
  #uses = 0;

  /** @param make creates the tasks when they are first used. */
  constructor(make: (constructor: typeof Tasks) => Tasks) {
    this.#make = make;
  }

  load(): Promise<Tasks> {
    return (this.#tasks ??= import('./tasks.ts').then((module) => this.#make(module.Tasks)));
  }

  /**
   * Keeps the tasks in this state, if it has a place for them.
   *
   * @returns a function that takes this back. The last one forgets the store, if no task may be there yet.
   * @throws Error if there may be tasks elsewhere.
   */
  keepIn(state: Partial<State>): () => void {
    if (!state.tasks) return () => {};
    if (this.#state ? state.tasks !== this.#state.tasks : this.#tasks)
      throw new Error('The tasks of this server are already in another state: pass the same state each time');
    this.#state ??= state;
    this.#uses += 1;
    return () => {
      this.#uses -= 1;
      if (this.#uses === 0 && !this.#tasks) this.#state = undefined;
    };
  }

  /** The options of the tasks, with the store of the state unless they have one. */
  options(given: TasksOptions): KeptTasks {
    const { tasks, isAlive, node = '', bus } = this.#state ?? {};
    if (given.store || !isAlive || given.runner !== undefined) return { ...given, store: given.store ?? tasks };
    // A server ends the tasks under its name that it does not run, and a process may have several servers.
    runners += 1;
    const isRunning = (runner: string): Promise<boolean> => isAlive(nodeOf(runner));
    return { store: tasks, runner: runnerOf(node, runners), isAlive: isRunning, bus };
  }

  /** See `Tasks.close`. */
  async close(timeout: number): Promise<void> {
    await (await this.#tasks)?.close(timeout);
  }
}
