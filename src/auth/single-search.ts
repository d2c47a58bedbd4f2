/** Minimum length of a secret to find. A shorter text may be an ordinary word, and can be guessed anyway. */
export const MIN_SECRET = 8;
export const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const ELLIPSIS = 0x2026;

/** The search ends after this many parts, and the text should be removed as a whole: replacing each part takes long. */
export const MAX_PARTS = 100_000;

/** The start and the end of a part of a text. */
export type Span = [start: number, end: number];

/** Finds one secret in linear time, with the algorithm of Knuth, Morris and Pratt. */
export class SingleSearch {
  readonly #seed: string;
  readonly #secret: string;
  readonly #backwards: boolean;
  /** For each number of matched characters: how many still match if the match starts later. Computed when needed. */
  #borders: Int32Array | undefined;

  constructor(secret: string, backwards: boolean) {
    this.#secret = secret;
    this.#backwards = backwards;
    this.#seed = backwards ? secret.slice(-MIN_SECRET) : secret.slice(0, MIN_SECRET);
  }

  /** Positions within are in the direction of the search. */
  find(text: string, cut: boolean): Span[] {
    const found: Span[] = [];
    const { length } = this.#secret;
    for (let hit = this.#hit(text, 0); hit !== -1 && found.length <= MAX_PARTS;) {
      const borders = (this.#borders ??= this.#bordersOf());
      let at = hit + MIN_SECRET;
      let matched = MIN_SECRET;
      for (;;) {
        const isEnd = at === text.length;
        const next = isEnd ? LINE_FEED : this.#code(text, at);
        if (cut ? isCutting(next) : matched === length) add(found, at - matched, at);
        if (isEnd) break;
        // Stryker disable next-line ConditionalExpression: no character equals the one after the secret, which is not a number
        while (matched >= MIN_SECRET && (matched === length || next !== this.#code(this.#secret, matched))) {
          matched = borders[matched]!;
        }
        if (matched < MIN_SECRET) break;
        matched += 1;
        at += 1;
      }
      // The next match may begin with what still matches.
      hit = at === text.length ? -1 : this.#hit(text, at - matched);
    }
    return this.#backwards ? mirrored(found, text) : found;
  }

  /** The position of the next seed. */
  #hit(text: string, from: number): number {
    if (!this.#backwards) return text.indexOf(this.#seed, from);
    const last = text.length - MIN_SECRET - from;
    // Stryker disable next-line ConditionalExpression: no seed begins before the place where the search goes on
    const index = last < 0 ? -1 : text.lastIndexOf(this.#seed, last);
    return index === -1 ? -1 : text.length - MIN_SECRET - index;
  }

  #code(text: string, at: number): number {
    return text.charCodeAt(this.#backwards ? text.length - 1 - at : at);
  }

  #bordersOf(): Int32Array {
    const secret = this.#secret;
    const borders = new Int32Array(secret.length + 1);
    let border = 0;
    for (let length = 2; length <= secret.length; length += 1) {
      const last = this.#code(secret, length - 1);
      while (border > 0 && last !== this.#code(secret, border)) border = borders[border]!;
      if (last === this.#code(secret, border)) border += 1;
      borders[length] = border;
    }
    // A shorter match that goes on with the same character fails, too.
    // Stryker disable next-line ConditionalExpression,EqualityOperator,BlockStatement: this only saves time
    for (let length = 1; length < secret.length; length += 1) {
      const shorter = borders[length]!;
      // Stryker disable next-line ConditionalExpression: this only saves time
      if (this.#code(secret, length) === this.#code(secret, shorter)) borders[length] = borders[shorter]!;
    }
    return borders;
  }
}

/** Whether a secret may have been cut at this character. */
export function isCutting(code: number): boolean {
  return code === LINE_FEED || code === CARRIAGE_RETURN || code === ELLIPSIS;
}

/** Spans of the reversed text as those of the text. */
export function mirrored(spans: readonly Span[], text: string): Span[] {
  return spans.map(([start, end]) => [text.length - end, text.length - start]);
}

/** Adds a match. If it overlaps the one before it, they become one. */
export function add(found: Span[], start: number, end: number): void {
  const before = found.at(-1);
  if (before && start < before[1]) before[1] = Math.max(before[1], end);
  else found.push([start, end]);
}
