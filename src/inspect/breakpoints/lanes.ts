/** Something that waits in a lane. */
export interface Waiting {
  /** Whether it goes on as soon as nothing is before it. */
  ready: boolean;
  /** Whether the next one goes before it. */
  yields?: boolean;
  /** Lets it go on. */
  onward(): void;
}

/** Queues, by what keeps its order. An empty queue takes no memory. */
export class Lanes<Entry extends Waiting> {
  readonly #lanes = new Map<unknown, Entry[]>();

  isEmpty(key: unknown): boolean {
    return !this.#lanes.has(key);
  }

  /** How many wait behind an entry. */
  behind(key: unknown, entry: Entry): number {
    const lane = this.#lanes.get(key) ?? [];
    return lane.length - lane.indexOf(entry) - 1;
  }

  /** Nothing goes on before `flush` is called. */
  add(key: unknown, entry: Entry): void {
    const lane = this.#lanes.get(key) ?? [];
    this.#lanes.set(key, lane);
    const last = lane.at(-1);
    if (last?.yields) {
      last.yields = false;
      last.ready = true;
      lane.splice(-1, 0, entry);
    } else lane.push(entry);
  }

  /** Takes an entry out without letting it go on. */
  remove(key: unknown, entry: Entry): void {
    const lane = this.#lanes.get(key);
    const at = lane?.indexOf(entry) ?? -1;
    if (at === -1) return;
    lane!.splice(at, 1);
    this.flush(key);
  }

  /** Lets those at the front go on that are ready. */
  flush(key: unknown): void {
    const lane = this.#lanes.get(key);
    while (lane?.[0]?.ready) lane.shift()!.onward();
    // What goes on may have added others meanwhile.
    if (lane?.length === 0 && this.#lanes.get(key) === lane) this.#lanes.delete(key);
  }
}
