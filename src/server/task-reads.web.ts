import type { Owner } from '../base/share.ts';
import type { TaskRecord, TaskStore } from '../store/task-store.ts';

/** Replaces `task-reads.ts` in workers. There, no request may wait for another one, and the platform limits the time of each. */
export class TaskReads {
  readonly #store: TaskStore;

  constructor(store: TaskStore) {
    this.#store = store;
  }

  one(id: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    return this.#store.get(id, principal);
  }

  get(id: string, { principal }: Partial<Owner>): Promise<TaskRecord | undefined> {
    return this.#store.get(id, principal);
  }
}
