/** Values in groups. The oldest of a group is taken first, each in constant time: a recording may have millions. */
export class Groups<T> {
  readonly #groups = new Map<string, { readonly values: T[]; next: number }>();

  add(key: string, value: T): void {
    const group = this.#groups.get(key);
    if (group) group.values.push(value);
    else this.#groups.set(key, { values: [value], next: 0 });
  }

  take(key: string): T | undefined {
    const group = this.#groups.get(key);
    if (!group || group.next === group.values.length) return undefined;
    group.next += 1;
    return group.values[group.next - 1];
  }

  /** Those that were not taken. */
  left(): T[] {
    return [...this.#groups.values()].flatMap(({ values, next }) => values.slice(next));
  }
}
