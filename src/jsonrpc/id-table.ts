/** Places for what is in flight. A power of two. */
const SLOTS = 64;

/**
 * What is in flight, by its id: a `Map` for entries that come and go with every call.
 *
 * A `Map` makes itself a new table every few dozen of such entries, and the old tables lead to the newer ones. Once one of
 * them has grown old, all that came after it outlives its use by several collections, with the calls that are in them: on
 * a busy connection that was a third of the processor time. Here an integer has a place of its own, which is used again;
 * ids whose place is taken, and those that are no integers, go to a map.
 */
export class IdTable<Id extends string | number, Value> {
  /** What is in each place; as long as the highest that was used. */
  #ids: (Id | undefined)[] = [];
  #values: (Value | undefined)[] = [];
  #placed = 0;
  #others: Map<Id, Value> | undefined;

  get size(): number {
    return this.#placed + (this.#others?.size ?? 0);
  }

  get(id: Id | undefined): Value | undefined {
    if (id === undefined) return undefined;
    const place = placeOf(id);
    return this.#ids[place] === id ? this.#values[place] : this.#others?.get(id);
  }

  has(id: Id | undefined): boolean {
    if (id === undefined) return false;
    return this.#ids[placeOf(id)] === id || (this.#others?.has(id) ?? false);
  }

  set(id: Id, value: Value): void {
    const place = placeOf(id);
    const taken = this.#ids[place];
    if (taken === undefined && !this.#others?.has(id)) {
      this.#ids[place] = id;
      this.#placed += 1;
    } else if (taken !== id) {
      (this.#others ??= new Map()).set(id, value);
      return;
    }
    this.#values[place] = value;
  }

  /** Whether there was such an entry. */
  delete(id: Id | undefined): boolean {
    // What a peer names may be none, and a place that is free holds none either.
    if (id === undefined) return false;
    const place = placeOf(id);
    if (this.#ids[place] !== id) return this.#others?.delete(id) ?? false;
    this.#ids[place] = undefined;
    this.#values[place] = undefined;
    this.#placed -= 1;
    return true;
  }

  clear(): void {
    this.#ids = [];
    this.#values = [];
    this.#placed = 0;
    this.#others = undefined;
  }

  /** In the order in which consecutive ids were given: that of the ids. Those that are no integers come last. */
  entries(): [Id, Value][] {
    const found: [Id, Value][] = [];
    for (const [place, id] of this.#ids.entries()) {
      if (id !== undefined) found.push([id, this.#values[place] as Value]);
    }
    for (const entry of this.#others ?? []) found.push(entry);
    return found.toSorted(([a], [b]) => rank(a) - rank(b));
  }

  keys(): Id[] {
    return this.entries().map(([id]) => id);
  }

  values(): Value[] {
    return this.entries().map(([, value]) => value);
  }
}

/** Strings have none, and share one. */
function placeOf(id: string | number): number {
  return typeof id === 'number' ? id & (SLOTS - 1) : 0;
}

function rank(id: string | number): number {
  return typeof id === 'number' ? id : Number.MAX_VALUE;
}
