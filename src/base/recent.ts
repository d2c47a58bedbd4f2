import { Oldest } from './oldest.ts';

/**
 * The most recently ended entries, usually cancelled ones. Until the peer learns that they have ended, it may still
 * send messages about them. These must be ignored (basic/utilities/cancellation: Behavior Requirements).
 */
export class Recent<Value = undefined> {
  readonly #entries = new Map<unknown, Value>();
  readonly #oldest = new Oldest(this.#entries);
  readonly #max: number;

  /** @param max how many entries are remembered. Default 256. */
  constructor(max = 256) {
    this.#max = max;
  }

  /** @param kept a value to store with the entry. */
  add(entry: unknown, ...kept: [Value] extends [undefined] ? [] : [Value]): void {
    this.#entries.delete(entry);
    this.#entries.set(entry, kept[0] as Value);
    if (this.#entries.size > this.#max) this.#entries.delete(this.#oldest.take());
  }

  has(entry: unknown): boolean {
    return this.#entries.has(entry);
  }

  /** The value stored with the entry. */
  get(entry: unknown): Value | undefined {
    return this.#entries.get(entry);
  }

  /** Removes the entry and returns the value stored with it. */
  take(entry: unknown): Value | undefined {
    const value = this.#entries.get(entry);
    this.#entries.delete(entry);
    return value;
  }
}
