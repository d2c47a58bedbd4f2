import type { Work } from './work.ts';

/** The members and items that a keyword has checked, for `unevaluatedProperties` and `unevaluatedItems`. */
export class Evaluated {
  readonly #members = new Set<string | number>();
  /** Items before this index were checked. */
  #first = 0;
  #all = false;

  has(member: string | number): boolean {
    return this.#all || (typeof member === 'number' && member < this.#first) || this.#members.has(member);
  }

  add(member: string | number, work: Work): void {
    work.take(8);
    this.#members.add(member);
  }

  addFirst(count: number): void {
    this.#first = Math.max(this.#first, count);
  }

  addAll(): void {
    this.#all = true;
  }

  merge(other: Evaluated, work: Work): void {
    work.take(5 + 8 * other.#members.size);
    for (const member of other.#members) this.#members.add(member);
    this.addFirst(other.#first);
    this.#all ||= other.#all;
  }
}
