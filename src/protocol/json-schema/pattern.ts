import { Program, type Node } from './pattern-program.ts';
import { parsePattern } from './pattern-syntax.ts';
import type { Work } from './work.ts';

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
