/** How many are remembered. */
const MAX = 256;

/**
 * What was given up last. What a peer still says of it was on its way when it heard of that, and is to be ignored
 * (basic/utilities/cancellation: Behavior Requirements).
 */
export class Recent {
  readonly #entries = new Set<unknown>();

  add(entry: unknown): void {
    this.#entries.add(entry);
    if (this.#entries.size <= MAX) return;
    const [oldest] = this.#entries;
    this.#entries.delete(oldest);
  }

  has(entry: unknown): boolean {
    return this.#entries.has(entry);
  }
}
