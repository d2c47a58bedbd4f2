import { CharacterSet, type Node } from './pattern-program.ts';
import type { Work } from './work.ts';

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', v: '\v', 0: '\0' };
/** Escapes that stand for a set of characters. */
const SETS = /[dDsSwW]/;
const QUANTIFIER = /[*+?]|\{(\d+)(,(\d*))?\}/y;
const QUANTIFIERS: Readonly<Record<string, { min: number; max: number }>> = {
  '*': { min: 0, max: Infinity },
  '+': { min: 1, max: Infinity },
  '?': { min: 0, max: 1 },
};
const PROPERTY = /\\[pP]\{[^}]*\}/y;
const UNICODE = /\\u(?:\{([\da-fA-F]+)\}|([\da-fA-F]{4})(?:\\u([dD][c-fC-F][\da-fA-F]{2}))?)/y;
const GROUP = /\((?:\?(:|=|!|<=|<!|<[^>]*>))?/y;

/** Parses what `RegExp` accepts with the flag `u`. @throws TypeError at a backreference. */
export function parsePattern(source: string, work: Work): Node {
  return new Parser(source, work).alternatives();
}

class Parser {
  readonly #source: string;
  readonly #work: Work;
  #at = 0;

  constructor(source: string, work: Work) {
    this.#source = source;
    this.#work = work;
  }

  alternatives(): Node {
    const all = [this.#sequence()];
    while (this.#source[this.#at] === '|') {
      this.#at += 1;
      all.push(this.#sequence());
    }
    return all.length === 1 ? all[0]! : { op: 'any', of: all };
  }

  #sequence(): Node {
    const all: Node[] = [];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at]!)) all.push(this.#repeated());
    return { op: 'all', of: all };
  }

  #repeated(): Node {
    const of = this.#term();
    const counts = this.#counts();
    if (!counts) return of;
    // A lazy quantifier changes what is matched, but not whether there is a match.
    if (this.#source[this.#at] === '?') this.#at += 1;
    return { op: 'repeat', of, ...counts };
  }

  /** How many times the last term may be repeated; undefined if no quantifier follows it. */
  #counts(): { min: number; max: number } | undefined {
    const [found, min, range, max] = this.#match(QUANTIFIER) ?? [];
    if (found === undefined) return undefined;
    if (min === undefined) return QUANTIFIERS[found];
    return { min: Number(min), max: range === undefined ? Number(min) : max === '' ? Infinity : Number(max) };
  }

  #term(): Node {
    const character = this.#source[this.#at]!;
    switch (character) {
      case '^':
        this.#at += 1;
        return { op: 'start' };
      case '$':
        this.#at += 1;
        return { op: 'end' };
      case '(':
        return this.#group();
      case '[':
        return this.#class();
      case '.':
        this.#at += 1;
        return this.#set('.');
      case '\\':
        return this.#escape();
      default: {
        const code = this.#source.codePointAt(this.#at)!;
        this.#at += code > 0xffff ? 2 : 1;
        return { op: 'character', code };
      }
    }
  }

  #group(): Node {
    const [, kind] = this.#match(GROUP)!;
    if (kind === undefined && this.#source[this.#at] === '?') throw new TypeError('has an unknown kind of group');
    this.#work.enter();
    const of = this.alternatives();
    this.#work.leave();
    this.#at += 1;
    if (kind === undefined || kind === ':' || kind.endsWith('>')) return of;
    return { op: 'look', of, direction: kind.startsWith('<') ? -1 : 1, negated: kind.endsWith('!') };
  }

  /** A class in brackets: `RegExp` tests one character at a time against it. */
  #class(): Node {
    const start = this.#at;
    for (this.#at += 1; this.#source[this.#at] !== ']'; this.#at += 1) {
      if (this.#source[this.#at] === '\\') this.#at += 1;
    }
    this.#at += 1;
    return this.#set(this.#source.slice(start, this.#at));
  }

  #escape(): Node {
    const escaped = this.#source[this.#at + 1]!;
    if (escaped === 'b' || escaped === 'B') {
      this.#at += 2;
      return { op: 'boundary', negated: escaped === 'B' };
    }
    if (escaped === 'k' || /[1-9]/.test(escaped)) {
      throw new TypeError('has a backreference, which could take unlimited time');
    }
    if (escaped === 'p' || escaped === 'P') return this.#set(this.#match(PROPERTY)![0]);
    if (escaped === 'u') {
      const [, long, short, trail] = this.#match(UNICODE)!;
      const lead = parseInt((long ?? short)!, 16);
      if (trail === undefined) return { op: 'character', code: lead };
      if (lead >= 0xd800 && lead <= 0xdbff) {
        return { op: 'character', code: (lead - 0xd800) * 0x400 + parseInt(trail, 16) - 0xdc00 + 0x10000 };
      }
      this.#at -= '\\uXXXX'.length;
      return { op: 'character', code: lead };
    }
    if (escaped === 'x') return this.#code(parseInt(this.#source.slice(this.#at + 2, this.#at + 4), 16), 4);
    if (escaped === 'c') return this.#code(this.#source.charCodeAt(this.#at + 2) % 32, 3);
    if (SETS.test(escaped)) {
      this.#at += 2;
      return this.#set(`\\${escaped}`);
    }
    return this.#code((ESCAPES[escaped] ?? escaped).charCodeAt(0), 2);
  }

  #set(source: string): Node {
    return { op: 'set', set: new CharacterSet(source, this.#work) };
  }

  #code(code: number, length: number): Node {
    this.#at += length;
    return { op: 'character', code };
  }

  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#source);
    if (found) this.#at = expression.lastIndex;
    return found;
  }
}
