import { Program, type Node } from './pattern-program.ts';
import { parsePattern } from './pattern-syntax.ts';
import type { Work } from './work.ts';

/** Steps that it takes to look up one property of characters; the language reads it twice and compiles it. */
const PROPERTY_STEPS = 10_000;
const PROPERTIES = /\\p/gi;
const CLASSES = /\[(?:[^\\\]]|\\.)*/gs;

/**
 * A regular expression of ECMAScript with the flag `u`, which is what `pattern` holds (2020-12 core, section 6.4). It is
 * followed by all of its ways at once, and so takes time that grows with pattern × text; the one of the language goes back
 * and forth, which can take for ever.
 */
export class Pattern {
  readonly #program: Program;

  /** @throws TypeError where it is no regular expression, or one whose time cannot be bounded: it has a backreference. */
  constructor(source: string, work: Work) {
    work.take(100 + 10 * source.length);
    takeSets(source, work);
    try {
      // Says what is wrong better than a parser that need only read what is right.
      void new RegExp(source, 'u');
    } catch (cause) {
      throw new TypeError(`is not a regular expression: ${(cause as Error).message}`, { cause });
    }
    const tree: Node = parsePattern(source, work);
    this.#program = new Program(tree, 1, work);
  }

  /** Whether it is found anywhere in a text. */
  test(text: string, work: Work): boolean {
    return this.#program.find(text, work);
  }
}

/** Counts what sets of characters cost, before the language reads them. */
function takeSets(source: string, work: Work): void {
  for (const _ of source.matchAll(PROPERTIES)) work.take(PROPERTY_STEPS);
  // The language sorts the ranges of a class one by one: in the worst order that takes time that grows with its square.
  for (const [{ length }] of source.matchAll(CLASSES)) work.take((length * length) >>> 4);
}
