import { Deferred } from '../../base/deferred.ts';
import type { WorkerSlot } from './worker-slot.ts';

/** How long a worker may take to answer. Milliseconds. */
const TIMEOUT = 2000;

/** Asks all workers for their metrics. */
export class MetricsGathering {
  readonly #slots: readonly WorkerSlot[];
  /** The pages that have come for the newest question, by the numbers of the workers. */
  #pages: Record<number, string> = {};
  readonly #waiting = new Set<WorkerSlot>();
  #id = 0;
  #done: Deferred<Record<number, string>> | undefined;

  constructor(slots: readonly WorkerSlot[]) {
    this.#slots = slots;
  }

  /** The pages by the numbers of the workers. Empty for those that do not answer in time. Asks once for all that wait. */
  pages(): Promise<Record<number, string>> {
    return (this.#done ?? this.#ask()).promise;
  }

  take(slot: WorkerSlot, id: number, page: string): void {
    if (id !== this.#id || !this.#waiting.has(slot)) return;
    this.#pages[slot.number] = page;
    this.gone(slot);
  }

  /** Its worker will not answer any more. */
  gone(slot: WorkerSlot): void {
    if (this.#waiting.delete(slot) && this.#waiting.size === 0) this.#finish();
  }

  #ask(): Deferred<Record<number, string>> {
    this.#id += 1;
    this.#pages = Object.fromEntries(this.#slots.map(({ number }) => [number, '']));
    const done = new Deferred<Record<number, string>>();
    this.#done = done;
    const timer = setTimeout(() => this.#finish(), TIMEOUT);
    void done.promise.then(() => clearTimeout(timer));
    for (const slot of this.#slots) {
      if (!slot.listening) continue;
      this.#waiting.add(slot);
      slot.send({ everwire: 'read', id: this.#id });
    }
    return done;
  }

  #finish(): void {
    this.#waiting.clear();
    this.#done?.resolve(this.#pages);
    this.#done = undefined;
  }
}
