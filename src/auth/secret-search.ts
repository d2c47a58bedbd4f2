/** Minimum length of a secret to find. A shorter text may be an ordinary word, and can be guessed anyway. */
export const MIN_SECRET = 8;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const ELLIPSIS = 0x2026;
/** How many seeds one regular expression looks for. Compiling a larger one takes more than linear time. */
const MAX_ALTERNATIVES = 1000;
/** After this many hits in one text, all seeds count as present. */
const MAX_HITS = 1000;

/** The search ends after this many parts, and the text should be removed as a whole: replacing each part takes long. */
export const MAX_PARTS = 100_000;

/** The start and the end of a part of a text. */
export type Span = [start: number, end: number];

/**
 * Finds secrets in texts. First it looks for seeds, the first 8 characters of the secrets, because most texts have none.
 * A server may choose both a secret, such as a token, and the text, so the rest takes linear time.
 */
export class SecretSearch {
  readonly #bySeed: ReadonlyMap<string, readonly SingleSearch[]>;
  readonly #patterns: readonly RegExp[];

  /** @param backwards from the end of the text, and with the ends of the secrets as seeds. */
  constructor(secrets: readonly string[], backwards: boolean) {
    const bySeed = new Map<string, SingleSearch[]>();
    for (const search of secrets.map((secret) => new SingleSearch(secret, backwards))) {
      const same = bySeed.get(search.seed);
      if (same) same.push(search);
      else bySeed.set(search.seed, [search]);
    }
    this.#bySeed = bySeed;
    const seeds = Array.from(bySeed.keys(), (seed) => seed.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    // Stryker disable next-line ArithmeticOperator: further chunks have no seeds
    const chunks = Array.from({ length: Math.ceil(seeds.length / MAX_ALTERNATIVES) }, (_, chunk) =>
      // Stryker disable next-line MethodExpression,ArithmeticOperator: larger patterns find the same, only later
      seeds.slice(chunk * MAX_ALTERNATIVES, (chunk + 1) * MAX_ALTERNATIVES),
    );
    // Stryker disable next-line StringLiteral: without the flag the first hit counts many times, until all seeds count as present
    this.#patterns = chunks.map((chunk) => new RegExp(chunk.join('|'), 'g'));
  }

  /**
   * @param cut finds secrets that a line cuts, instead of whole secrets: their beginnings at the end of a line, or
   * backwards their ends at the beginning of a line.
   */
  find(text: string, cut: boolean): Span[] {
    return this.#present(text).flatMap((search) => search.find(text, cut));
  }

  /** The searches whose seeds are in the text. */
  #present(text: string): SingleSearch[] {
    const seeds = new Set<string>();
    let hits = 0;
    for (const pattern of this.#patterns) {
      pattern.lastIndex = 0;
      for (let hit = pattern.exec(text); hit; hit = pattern.exec(text)) {
        seeds.add(hit[0]);
        // Stryker disable next-line AssignmentOperator: searches whose seeds are not in the text only take time
        hits += 1;
        // Stryker disable next-line ConditionalExpression,EqualityOperator: as above
        if (hits === MAX_HITS) return [...this.#bySeed.values()].flat();
        pattern.lastIndex = hit.index + 1;
      }
    }
    return [...seeds].flatMap((seed) => this.#bySeed.get(seed)!);
  }
}

/** Finds one secret, with the algorithm of Knuth, Morris and Pratt. */
class SingleSearch {
  readonly seed: string;
  readonly #secret: string;
  readonly #backwards: boolean;
  /** For each number of matched characters: how many still match if the match starts later. Computed when needed. */
  #borders: Int32Array | undefined;

  constructor(secret: string, backwards: boolean) {
    this.#secret = secret;
    this.#backwards = backwards;
    this.seed = backwards ? secret.slice(-MIN_SECRET) : secret.slice(0, MIN_SECRET);
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
    return this.#backwards ? found.map(([start, end]) => [text.length - end, text.length - start]) : found;
  }

  /** The position of the next seed. */
  #hit(text: string, from: number): number {
    if (!this.#backwards) return text.indexOf(this.seed, from);
    const last = text.length - MIN_SECRET - from;
    // Stryker disable next-line ConditionalExpression: no seed begins before the place where the search goes on
    const index = last < 0 ? -1 : text.lastIndexOf(this.seed, last);
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
function isCutting(code: number): boolean {
  return code === LINE_FEED || code === CARRIAGE_RETURN || code === ELLIPSIS;
}

/** Adds a match. If it overlaps the one before it, they become one. */
function add(found: Span[], start: number, end: number): void {
  const before = found.at(-1);
  if (before && start < before[1]) before[1] = end;
  else found.push([start, end]);
}
