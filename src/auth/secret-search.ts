import {
  add,
  isCutting,
  LINE_FEED,
  MAX_PARTS,
  MIN_SECRET,
  mirrored,
  SingleSearch,
  type Span,
} from './single-search.ts';

/** How many seeds one regular expression looks for. Compiling a larger one takes more than linear time. */
const MAX_ALTERNATIVES = 1000;
/** After this many hits in one text, all seeds count as present. */
const MAX_HITS = 1000;

/** How long a text is compared with secrets, in characters: at least, and for each of its own. A hit counts as several. */
const WORK = 10_000;
const WORK_PER_CHARACTER = 2;
const WORK_PER_HIT = 8;

/** A text of more characters is compared no longer, and no more characters are searched for one secret after the other. */
const MAX_COMPARED = 1_000_000;
/** The most characters of a text that is searched for one seed. It is less for more seeds, because a search for 1,000 takes 0.1 µs. */
const MAX_CHARACTERS = 500_000_000;

/**
 * Finds secrets in texts. First it looks for seeds, the first 8 characters of the secrets, because most texts have none.
 * Then it compares what follows a seed with all secrets that begin with it, so that many secrets take no longer than one.
 * A server may choose both a secret, such as a token, and the text. If comparing takes long, each secret is searched in
 * linear time. If that would take long too, the text is not searched, and should be removed as a whole.
 */
export class SecretSearch {
  readonly #bySeed: ReadonlyMap<string, SeedGroup>;
  readonly #patterns: readonly RegExp[];
  readonly #backwards: boolean;

  /** @param backwards from the end of the text, and with the ends of the secrets as seeds. */
  constructor(secrets: readonly string[], backwards: boolean) {
    this.#backwards = backwards;
    const bySeed = new Map<string, string[]>();
    for (const secret of secrets) {
      const seed = backwards ? secret.slice(-MIN_SECRET) : secret.slice(0, MIN_SECRET);
      const same = bySeed.get(seed);
      if (same) same.push(secret);
      else bySeed.set(seed, [secret]);
    }
    this.#bySeed = new Map(Array.from(bySeed, ([seed, group]) => [seed, new SeedGroup(group, backwards)]));
    const seeds = Array.from(bySeed.keys(), (seed) => seed.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    // Stryker disable next-line ArithmeticOperator: further chunks have no seeds
    const chunks = Array.from({ length: Math.ceil(seeds.length / MAX_ALTERNATIVES) }, (_, chunk) =>
      // Stryker disable next-line MethodExpression,ArithmeticOperator: larger patterns find the same, only later
      seeds.slice(chunk * MAX_ALTERNATIVES, (chunk + 1) * MAX_ALTERNATIVES),
    );
    // Stryker disable next-line StringLiteral: without the flag the first hit counts many times, until each secret is searched
    this.#patterns = chunks.map((chunk) => new RegExp(chunk.join('|'), 'g'));
  }

  /**
   * @param cut finds secrets that a line cuts, instead of whole secrets: their beginnings at the end of a line, or
   * backwards their ends at the beginning of a line.
   * @returns undefined if the search would take too long.
   */
  find(text: string, cut: boolean): Span[] | undefined {
    // Stryker disable next-line EqualityOperator: a time near this limit is as good on either side
    if (this.#bySeed.size * text.length > MAX_CHARACTERS) return undefined;
    const found: Span[] = [];
    for (const pattern of this.#patterns) {
      const spans = this.#compare(pattern, text, cut);
      // Stryker disable next-line ConditionalExpression: searching each secret finds the same, only later
      if (!spans) return this.#searchEach(text, cut);
      found.push(...spans);
    }
    return found;
  }

  #searchEach(text: string, cut: boolean): Span[] | undefined {
    const searches = this.#present(text);
    // Stryker disable next-line EqualityOperator: a time near this limit is as good on either side
    if (searches.length * text.length > MAX_COMPARED) return undefined;
    return searches.flatMap((search) => search.find(text, cut));
  }

  /** Compares all secrets at once where one may be. Undefined if this takes long. */
  // Stryker disable next-line BlockStatement: without it each secret is searched, which finds the same, only later
  #compare(pattern: RegExp, text: string, cut: boolean): Span[] | undefined {
    // Stryker disable next-line ArithmeticOperator: how much work is much
    const work: Work = { left: WORK + WORK_PER_CHARACTER * Math.min(text.length, MAX_COMPARED) };
    const hits: { readonly seed: string; readonly index: number }[] = [];
    pattern.lastIndex = 0;
    for (let hit = pattern.exec(text); hit; hit = pattern.exec(text)) {
      hits.push({ seed: hit[0], index: hit.index });
      pattern.lastIndex = hit.index + 1;
      // Stryker disable next-line AssignmentOperator: how much work is much
      work.left -= WORK_PER_HIT;
      // Stryker disable next-line ConditionalExpression,EqualityOperator: each secret is searched then, which finds the same, only later
      if (work.left < 0) return undefined;
    }
    if (this.#backwards) hits.reverse();
    const found: Span[] = [];
    for (const { seed, index } of hits) {
      // Positions within are in the direction of the search.
      const start = this.#backwards ? text.length - MIN_SECRET - index : index;
      const length = this.#bySeed.get(seed)!.longest(text, start, cut, work);
      // Stryker disable next-line ConditionalExpression,EqualityOperator: each secret is searched then, which finds the same, only later
      if (work.left < 0) return undefined;
      if (length > 0) add(found, start, start + length);
      if (found.length > MAX_PARTS) break;
    }
    return this.#backwards ? mirrored(found, text) : found;
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
        if (hits === MAX_HITS) return Array.from(this.#bySeed.values(), ({ searches }) => searches).flat();
        // Stryker disable next-line ArithmeticOperator: the first hit would count as many, as above
        pattern.lastIndex = hit.index + 1;
      }
    }
    return [...seeds].flatMap((seed) => this.#bySeed.get(seed)!.searches);
  }
}

/** How much longer a comparison may take. */
interface Work {
  left: number;
}

/** Secrets with the same seed. */
class SeedGroup {
  readonly #secrets: readonly string[];
  readonly #backwards: boolean;
  #sorted: readonly string[] | undefined;
  #searches: readonly SingleSearch[] | undefined;

  constructor(secrets: readonly string[], backwards: boolean) {
    this.#secrets = secrets;
    this.#backwards = backwards;
  }

  /** One search for each secret. */
  get searches(): readonly SingleSearch[] {
    return (this.#searches ??= this.#secrets.map((secret) => new SingleSearch(secret, this.#backwards)));
  }

  /** The length of the longest secret, or of the longest part before a cut, that begins with a seed of the text. 0: none. */
  longest(text: string, start: number, cut: boolean, work: Work): number {
    const secrets = (this.#sorted ??= this.#inOrder());
    let [low, high] = [0, secrets.length];
    let longest = 0;
    for (let length = MIN_SECRET; ; length += 1) {
      const at = start + length;
      const isEnd = at === text.length;
      const next = isEnd ? LINE_FEED : text.charCodeAt(this.#backwards ? text.length - 1 - at : at);
      // Of those that are left, the shortest is the first.
      if (cut ? isCutting(next) : secrets[low]!.length === length) longest = length;
      // Stryker disable next-line AssignmentOperator: how much work is much
      work.left -= 1;
      if (isEnd) return longest;
      // Stryker disable next-line ConditionalExpression,EqualityOperator: the result is not used if there is too much work
      if (work.left < 0) return longest;
      low = firstFrom(secrets, low, high, length, next);
      high = firstFrom(secrets, low, high, length, next + 1);
      if (low === high) return longest;
    }
  }

  /** The secrets in the direction of the search, sorted. */
  #inOrder(): string[] {
    const secrets = this.#backwards
      ? this.#secrets.map((secret) => secret.split('').toReversed().join(''))
      : this.#secrets;
    return secrets.toSorted();
  }
}

/** Of sorted texts in a range that are equal before a place: the first that has this character there, or a later one. */
function firstFrom(texts: readonly string[], from: number, to: number, place: number, code: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    // A text that ends before the place is smaller than all characters.
    if (texts[middle]!.charCodeAt(place) >= code) high = middle;
    else low = middle + 1;
  }
  return low;
}
