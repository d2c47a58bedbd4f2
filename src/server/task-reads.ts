import { shareOf, type Owner } from '../base/share.ts';
import { ShareLine } from '../base/share-line.ts';
import { inShortTurns } from '../base/short-turns.ts';
import type { TaskRecord, TaskStore } from '../store/task-store.ts';

/** How many tasks of one principal or address are read at a time. */
const MAX_OF_ONE = 16;
/** How long a read may wait for others of its principal or address. Milliseconds. */
const MAX_WAIT = 60_000;

/**
 * Reads tasks for callers. A task may be large, so one caller that reads many at once must not block the event loop, nor the
 * connection to the store.
 */
export class TaskReads {
  readonly #store: TaskStore;
  readonly #line = new ShareLine(MAX_OF_ONE, Number.POSITIVE_INFINITY, MAX_WAIT);

  constructor(store: TaskStore) {
    this.#store = store;
  }

  /** Does not wait for other reads. For who reads one task after the other. @throws (rejects) an error of the store. */
  async one(id: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    return inShortTurns(() => this.#store.get(id, principal), shareOf({ principal, address: undefined }));
  }

  /** @param signal ends the wait. @throws (rejects) its reason, an error of the store, or an error after `MAX_WAIT`. */
  get(
    id: string,
    { principal, address }: Partial<Owner>,
    signal: AbortSignal | undefined,
  ): Promise<TaskRecord | undefined> {
    const share = shareOf({ principal, address });
    const read = (): Promise<TaskRecord | undefined> => {
      signal?.throwIfAborted();
      return this.#store.get(id, principal);
    };
    return this.#line.within(share, 0, signal, async () => inShortTurns(read, share));
  }
}
