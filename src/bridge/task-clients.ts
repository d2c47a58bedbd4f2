import { Recent } from '../base/recent.ts';
import { Waiters } from '../base/waiters.ts';

/** The most tasks of which the client is remembered. */
const MAX_TASKS = 1000;
/** The most characters of a task's id. Longer ones are not remembered. */
const MAX_ID = 256;

type Client = object | string;

/** The clients of a shared connection that have begun or named tasks last, by the ids of the tasks. */
export class TaskClients {
  readonly #clients = new Recent<Client>(MAX_TASKS);
  readonly #added = new Waiters();

  /** A client has begun or named a task. An id that is not a text is ignored. */
  add(id: unknown, client: Client): void {
    if (typeof id !== 'string' || id.length > MAX_ID) return;
    this.#clients.add(id, client);
    this.#added.wake();
  }

  get(id: string): Client | undefined {
    return this.#clients.get(id);
  }

  /**
   * The client of a task. A question of a task can come before the result that creates the task: in one piece with it, or on
   * another stream. So this waits.
   *
   * @param timeout milliseconds.
   * @returns undefined if the client is still unknown then, or when the signal fires.
   */
  async find(id: string, timeout: number, signal: AbortSignal): Promise<Client | undefined> {
    const until = performance.now() + timeout;
    for (;;) {
      const client = this.get(id);
      const left = until - performance.now();
      if (client !== undefined || left <= 0 || signal.aborted) return client;
      await this.#added.wait({ signal, timeout: left });
    }
  }
}
