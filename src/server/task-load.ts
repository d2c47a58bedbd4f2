import type { JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';
import { TaskStoreFull } from '../store/task-store.ts';

/** What the requests of running tasks, and the answers to them, may be together, in bytes of memory (estimated). */
const MAX_SIZE = 256 * 1024 * 1024;
/** The same, of one principal. */
const MAX_PRINCIPAL_SIZE = 64 * 1024 * 1024;

interface Request {
  readonly principal: string | undefined;
  size: number;
}

/**
 * The requests of the tasks that run here, and the answers to their questions. A store sees tasks and their results; what a handler works on is in memory
 * whatever the store, and without a connection to its caller that would bound it.
 */
export class TaskLoad {
  readonly #requests = new Map<string, Request>();
  readonly #sizes = new Map<string, number>();
  #size = 0;

  /**
   * Takes the parameters of a task, or what came for it later: answers.
   *
   * @throws TaskStoreFull where a bound would be exceeded. Nothing is taken then.
   */
  add(id: string, principal: string | undefined, value: JsonObject): void {
    const size = weightOf(value);
    if (this.#size + size > MAX_SIZE) throw new TaskStoreFull('What running tasks work on is too large together');
    if (principal !== undefined) {
      const sum = (this.#sizes.get(principal) ?? 0) + size;
      if (sum > MAX_PRINCIPAL_SIZE) {
        throw new TaskStoreFull('What running tasks of one principal work on is too large together');
      }
      this.#sizes.set(principal, sum);
    }
    this.#size += size;
    const request = this.#requests.get(id);
    if (request) request.size += size;
    else this.#requests.set(id, { principal, size });
  }

  /** A task is over. Nothing happens where it was not added. */
  delete(id: string): void {
    const request = this.#requests.get(id);
    if (!request) return;
    const { principal, size } = request;
    this.#requests.delete(id);
    this.#size -= size;
    if (principal === undefined) return;
    const rest = this.#sizes.get(principal)! - size;
    if (rest > 0) this.#sizes.set(principal, rest);
    else this.#sizes.delete(principal);
  }
}
