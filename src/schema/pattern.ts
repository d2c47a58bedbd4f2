import { Program, type Node } from './pattern-program.ts';
import { parsePattern } from './pattern-syntax.ts';
import type { Work } from './work.ts';

/** Steps for one Unicode property, which `RegExp` reads twice and compiles. */
const PROPERTY_STEPS = 10_000;
const PROPERTIES = /\\p/gi;
const CLASSES = /\[(?:[^\\\]]|\\.)*/gs;

/**
 * An ECMAScript regular expression with the flag `u`, as in `pattern` (2020-12 core, section 6.4). It runs as an
 * automaton, in time that grows with pattern × text. `RegExp` backtracks, which can take exponential time.
 */
export class Pattern {
  readonly #program: Program;

  /**
   * @throws TypeError if the text is not a regular expression, or has a backreference, which could take unlimited time.
   */
  constructor(source: string, work: Work) {
    // `RegExp` has better error messages, so it checks the expression first. The parser below gets only valid ones.
    checkExpression(source, work);
    const tree: Node = parsePattern(source, work);
    this.#program = new Program(tree, 1, work);
  }

  /** Whether the pattern matches anywhere in a text. */
  test(text: string, work: Work): boolean {
    return this.#program.find(text, work);
  }
}

/** @throws TypeError if a text is not an ECMAScript regular expression with the flag `u`. */
export function checkExpression(source: string, work: Work): void {
  work.take(100 + 10 * source.length);
  takeSets(source, work);
  try {
    void new RegExp(source, 'u');
  } catch (cause) {
    throw new TypeError(`is not a regular expression: ${(cause as Error).message}`, { cause });
  }
}

/** Counts the cost of character sets before `RegExp` reads them. */
function takeSets(source: string, work: Work): void {
  for (const _ of source.matchAll(PROPERTIES)) work.take(PROPERTY_STEPS);
  // `RegExp` sorts the ranges of a class, which takes quadratic time in the worst case.
  for (const [{ length }] of source.matchAll(CLASSES)) work.take((length * length) / 16);
}
