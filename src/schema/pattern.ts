import { Program, type Node } from './pattern-program.ts';
import { parsePattern } from './pattern-syntax.ts';
import type { Work } from './work.ts';

/** Steps for one property of characters, which `RegExp` reads twice and compiles. */
const PROPERTY_STEPS = 10_000;
const PROPERTIES = /\\p/gi;
const CLASSES = /\[(?:[^\\\]]|\\.)*/gs;

/**
 * An ECMAScript regular expression with the flag `u`, as `pattern` holds it (2020-12 core, section 6.4). It runs as an
 * automaton, in time that grows with pattern × text. `RegExp` backtracks, which can take exponential time.
 */
export class Pattern {
  readonly #program: Program;

  /** @throws TypeError if it is not a regular expression, or has a backreference: its time cannot be bounded. */
  constructor(source: string, work: Work) {
    work.take(100 + 10 * source.length);
    takeSets(source, work);
    try {
      // It explains a mistake better; the parser below then has to accept valid expressions only.
      void new RegExp(source, 'u');
    } catch (cause) {
      throw new TypeError(`is not a regular expression: ${(cause as Error).message}`, { cause });
    }
    const tree: Node = parsePattern(source, work);
    this.#program = new Program(tree, 1, work);
  }

  /** Whether it matches anywhere in a text. */
  test(text: string, work: Work): boolean {
    return this.#program.find(text, work);
  }
}

/** Counts what sets of characters cost, before `RegExp` reads them. */
function takeSets(source: string, work: Work): void {
  for (const _ of source.matchAll(PROPERTIES)) work.take(PROPERTY_STEPS);
  // `RegExp` sorts the ranges of a class, in quadratic time at worst.
  for (const [{ length }] of source.matchAll(CLASSES)) work.take((length * length) / 16);
}
