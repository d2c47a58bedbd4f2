/** How many slots a table has at first, and at most. Powers of two. */
const FIRST_SLOTS = 16;
const MOST_SLOTS = 16_384;

/**
 * A map of requests in flight by id, for entries that come and go with every call.
 *
 * It exists because a `Map` reallocates its table every few dozen such entries, and old tables point to newer ones. An
 * old table in the old generation keeps later tables and their calls alive for several collections. On a busy connection
 * this cost a third of the processor time. Here each integer id uses a fixed slot that is reused. While slots are free,
 * a taken slot doubles their number. Other ids go to a map.
 */
export class IdTable<Id extends string | number, Value> {
  /** The id in each slot, up to the highest slot used so far. */
  #ids: (Id | undefined)[] = [];
  #values: (Value | undefined)[] = [];
  #slots = FIRST_SLOTS;
  #placed = 0;
  #others: Map<Id, Value> | undefined;

  get size(): number {
    return this.#placed + (this.#others?.size ?? 0);
  }

  get(id: Id | undefined): Value | undefined {
    if (id === undefined) return undefined;
    const place = this.#placeOf(id);
    return this.#ids[place] === id ? this.#values[place] : this.#others?.get(id);
  }

  has(id: Id | undefined): boolean {
    if (id === undefined) return false;
    return this.#ids[this.#placeOf(id)] === id || (this.#others?.has(id) ?? false);
  }

  set(id: Id, value: Value): void {
    const wanted = this.#ids[this.#placeOf(id)];
    if (wanted !== undefined && wanted !== id) this.#grow();
    const place = this.#placeOf(id);
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

  /** Returns whether the entry existed. */
  delete(id: Id | undefined): boolean {
    // A peer may send no id, and a free slot has no id either. They must not match.
    if (id === undefined) return false;
    const place = this.#placeOf(id);
    if (this.#ids[place] !== id) return this.#others?.delete(id) ?? false;
    this.#ids[place] = undefined;
    this.#values[place] = undefined;
    this.#placed -= 1;
    return true;
  }

  clear(): void {
    this.#ids = [];
    this.#values = [];
    this.#slots = FIRST_SLOTS;
    this.#placed = 0;
    this.#others = undefined;
  }

  /** Any entry that passes the test. */
  find(test: (value: Value) => boolean): Value | undefined {
    for (const value of this.#values) if (value !== undefined && test(value)) return value;
    for (const value of this.#others?.values() ?? []) if (test(value)) return value;
    return undefined;
  }

  /** In the order of the ids. Ids that are not integers come last. */
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

  /** A peer may send anything as an id. Nothing else than a text or a number is in the table. */
  #placeOf(id: unknown): number {
    let hash = 0;
    if (typeof id === 'number') hash = id;
    else if (typeof id === 'string') hash = 31 * id.charCodeAt(id.length - 2) + id.charCodeAt(id.length - 1);
    return hash & (this.#slots - 1);
  }

  /** Doubles the slots if half of them are taken. Ids that had different slots still have. */
  #grow(): void {
    if (this.#placed * 2 < this.#slots || this.#slots >= MOST_SLOTS) return;
    const [ids, values] = [this.#ids, this.#values];
    [this.#ids, this.#values] = [[], []];
    this.#slots *= 2;
    for (const [place, id] of ids.entries()) {
      if (id === undefined) continue;
      const moved = this.#placeOf(id);
      this.#ids[moved] = id;
      this.#values[moved] = values[place];
    }
  }
}

function rank(id: string | number): number {
  return typeof id === 'number' ? id : Number.MAX_VALUE;
}
