/**
 * The last of what is over, as a rule because it was given up. What a peer still says of it was on its way when it heard of that, and is to be ignored
 * (basic/utilities/cancellation: Behavior Requirements).
 */
export class Recent<Value = undefined> {
  readonly #entries = new Map<unknown, Value>();
  readonly #max: number;

  /** @param max how many are remembered. Default 256. */
  constructor(max = 256) {
    this.#max = max;
  }

  /** @param kept what is kept with it. */
  add(entry: unknown, ...kept: Value extends undefined ? [] : [Value]): void {
    this.#entries.set(entry, kept[0] as Value);
    if (this.#entries.size <= this.#max) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest);
  }

  has(entry: unknown): boolean {
    return this.#entries.has(entry);
  }

  /** What was kept with it. */
  get(entry: unknown): Value | undefined {
    return this.#entries.get(entry);
  }

  /** What was kept with it, which is forgotten then. */
  take(entry: unknown): Value | undefined {
    const value = this.#entries.get(entry);
    this.#entries.delete(entry);
    return value;
  }
}
