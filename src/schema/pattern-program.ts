import type { Work } from './work.ts';

/** A part of a regular expression. */
export type Node =
  | Leaf
  | { readonly op: 'all' | 'any'; readonly of: readonly Node[] }
  | { readonly op: 'repeat'; readonly of: Node; readonly min: number; readonly max: number }
  | { readonly op: 'look'; readonly of: Node; readonly direction: Direction; readonly negated: boolean };

/** A part that is one instruction. */
type Leaf =
  | { readonly op: 'character'; readonly code: number }
  /** One character of a set. */
  | { readonly op: 'set'; readonly set: CharacterSet }
  | { readonly op: 'boundary'; readonly negated: boolean }
  | { readonly op: 'start' | 'end' };

/** The direction in which the text is read: forward, or backward for a lookbehind. */
export type Direction = 1 | -1;

type Instruction =
  | Leaf
  | { readonly op: 'split' | 'jump'; to: number }
  | { readonly op: 'look'; readonly program: Program; readonly negated: boolean }
  | { readonly op: 'match' };

/** Follows all paths through a pattern at once, character by character (Thompson's construction). */
export class Program {
  readonly #code: Instruction[] = [];
  readonly #direction: Direction;
  /** For each instruction, the last step in which it was reached. Steps are counted over all texts. */
  readonly #seen: number[];
  #now = 0;

  constructor(tree: Node, direction: Direction, work: Work) {
    this.#direction = direction;
    this.#compile(tree, work);
    this.#emit({ op: 'match' }, work);
    this.#seen = Array.from({ length: this.#code.length }, () => -1);
  }

  /** Whether there is a match anywhere. */
  find(text: string, work: Work): boolean {
    return this.#run(text, 0, this.#code[0]!.op !== 'start', work);
  }

  /** Whether a match begins at this position. If the text is read backward: whether a match ends there. */
  matchesAt(text: string, at: number, work: Work): boolean {
    return this.#run(text, at, false, work);
  }

  #run(text: string, from: number, anywhere: boolean, work: Work): boolean {
    let current: number[] = [];
    for (let at = from; ;) {
      this.#now += 1;
      const places: number[] = [];
      // Continue the paths so far, then start a new one here.
      for (const place of current) if (this.#follow(place, text, at, places, work)) return true;
      if ((anywhere || at === from) && this.#follow(0, text, at, places, work)) return true;
      const code = this.#direction === 1 ? text.codePointAt(at) : codePointBefore(text, at);
      if (code === undefined || (places.length === 0 && !anywhere)) return false;
      work.take(3 + places.length);
      current = [];
      for (const place of places) {
        const instruction = this.#code[place]!;
        const fits =
          instruction.op === 'character'
            ? instruction.code === code
            : (instruction as { set: CharacterSet }).set.has(code, work);
        if (fits) current.push(place + 1);
      }
      at += (code > 0xffff ? 2 : 1) * this.#direction;
    }
  }

  /** Collects in `places` the instructions after `start` that read a character. Returns true at a match. */
  #follow(start: number, text: string, at: number, places: number[], work: Work): boolean {
    const todo = [start];
    for (let place = todo.pop(); place !== undefined; place = todo.pop()) {
      if (this.#seen[place] === this.#now) continue;
      this.#seen[place] = this.#now;
      work.take(2);
      const instruction = this.#code[place]!;
      switch (instruction.op) {
        case 'match':
          return true;
        case 'character':
        case 'set':
          places.push(place);
          break;
        case 'jump':
          todo.push(instruction.to);
          break;
        case 'split':
          todo.push(instruction.to, place + 1);
          break;
        case 'look':
          if (instruction.program.matchesAt(text, at, work) !== instruction.negated) todo.push(place + 1);
          break;
        case 'boundary':
          if ((isWord(text, at - 1) !== isWord(text, at)) !== instruction.negated) todo.push(place + 1);
          break;
        case 'start':
          if (at === 0) todo.push(place + 1);
          break;
        case 'end':
          if (at === text.length) todo.push(place + 1);
      }
    }
    return false;
  }

  #compile(node: Node, work: Work): void {
    switch (node.op) {
      case 'all': {
        const parts = this.#direction === 1 ? node.of : node.of.toReversed();
        for (const part of parts) this.#compile(part, work);
        return;
      }
      case 'any': {
        const ends: { to: number }[] = [];
        for (const [index, part] of node.of.entries()) {
          if (index === node.of.length - 1) {
            this.#compile(part, work);
            continue;
          }
          const split = this.#emit({ op: 'split', to: 0 }, work);
          this.#compile(part, work);
          ends.push(this.#emit({ op: 'jump', to: 0 }, work));
          split.to = this.#code.length;
        }
        for (const end of ends) end.to = this.#code.length;
        return;
      }
      case 'repeat':
        return this.#repeat(node, work);
      case 'look': {
        const program = new Program(node.of, node.direction, work);
        this.#emit({ op: 'look', program, negated: node.negated }, work);
        return;
      }
      default:
        this.#emit(node, work);
    }
  }

  #repeat({ of, min, max }: Node & { op: 'repeat' }, work: Work): void {
    // An empty part compiles to no instruction, but each repetition must cost a step, because the count has no limit.
    for (let count = 0; count < min; count += 1) {
      work.take(1);
      this.#compile(of, work);
    }
    if (max === Infinity) {
      const start = this.#code.length;
      const split = this.#emit({ op: 'split', to: 0 }, work);
      this.#compile(of, work);
      this.#emit({ op: 'jump', to: start }, work);
      split.to = this.#code.length;
      return;
    }
    const splits: { to: number }[] = [];
    for (let count = min; count < max; count += 1) {
      splits.push(this.#emit({ op: 'split', to: 0 }, work));
      this.#compile(of, work);
    }
    for (const split of splits) split.to = this.#code.length;
  }

  #emit<T extends Instruction>(instruction: T, work: Work): T {
    work.take(10);
    this.#code.push(instruction);
    return instruction;
  }
}

/** A set of characters, written as a regular expression for one of them. */
export class CharacterSet {
  readonly #expression: RegExp;
  readonly #known: (boolean | undefined)[] = [];

  constructor(source: string, work: Work) {
    work.take(1000 + 10 * source.length);
    this.#expression = new RegExp(`^${source}$`, 'u');
  }

  has(code: number, work: Work): boolean {
    // Results are cached only for ASCII, because other characters are too many.
    if (code >= 128) work.take(5);
    if (code >= 128) return this.#expression.test(String.fromCodePoint(code));
    return (this.#known[code] ??= this.#expression.test(String.fromCodePoint(code)));
  }
}

function codePointBefore(text: string, at: number): number | undefined {
  if (at === 0) return undefined;
  const code = at > 1 ? text.codePointAt(at - 2)! : 0;
  return code > 0xffff ? code : text.charCodeAt(at - 1);
}

function isWord(text: string, at: number): boolean {
  return /\w/.test(text[at] ?? '');
}
