import { suggestion } from '../../base/nearest.ts';
import { FilterError } from './error.ts';
import { KEYS, onceForBatch, type Predicate } from './keys.ts';
import { containing } from './pattern.ts';
import { piecesOf, tokensOf, type Token } from './tokens.ts';

export { FilterError } from './error.ts';
export type { Predicate } from './keys.ts';

/** The maximum length of a filter, in UTF-16 code units. */
export const MAX_FILTER = 2000;
/** How deep parentheses and minus signs may be nested. */
const MAX_DEPTH = 50;

/**
 * Parses a filter: terms such as `method:tools/call`, `dur>500ms` and free text, all of which must match. `-` before a
 * term negates it, `or` separates alternatives, and parentheses group. An empty filter matches everything.
 *
 * @throws FilterError that says where the mistake is.
 */
export function parseFilter(filter: string): Predicate {
  if (filter.length > MAX_FILTER)
    throw new FilterError(`A filter has at most ${MAX_FILTER} characters`, MAX_FILTER, filter.length);
  return new Parser(filter).parse();
}

/** Matches what stands before the value of a term: `key:` or `key>`. */
export const KEY = /^([a-z]+)(:|>=|<=|>|<)/i;

class Parser {
  readonly #filter: string;
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(filter: string) {
    this.#filter = filter;
    this.#tokens = tokensOf(filter);
  }

  parse(): Predicate {
    if (this.#tokens.length === 0) return () => true;
    const predicate = this.#alternatives();
    const rest = this.#peek();
    if (rest) throw new FilterError('This ")" has no "("', rest.start, rest.end);
    return predicate;
  }

  #alternatives(): Predicate {
    const all = [this.#terms()];
    for (let or = this.#takeWord('or'); or; or = this.#takeWord('or')) all.push(this.#terms(or));
    return all.length === 1 ? all[0]! : (subject) => all.some((predicate) => predicate(subject));
  }

  /** @param after the word after which a term must follow. */
  #terms(after?: Token): Predicate {
    const all: Predicate[] = [];
    let word = after;
    for (;;) {
      const token = this.#peek();
      if (token && token.type !== ')' && !this.#isWord(token, 'or') && !this.#isWord(token, 'and')) {
        all.push(this.#term());
        word = this.#takeWord('and');
      } else if (word) throw this.#problem('Write something after', word);
      else if (all.length > 0) break;
      else if (token && token.type === 'word') throw this.#problem('Write something before', token);
      else break;
    }
    if (all.length === 0) {
      const token = this.#peek()!;
      throw new FilterError('This ")" has no "("', token.start, token.end);
    }
    return all.length === 1 ? all[0]! : (subject) => all.every((predicate) => predicate(subject));
  }

  /** A term with its minus signs, or a group. */
  #term(): Predicate {
    const token = this.#take();
    if (token.type === 'word') return wordPredicate(this.#filter, token);
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH)
      throw new FilterError(`A filter has at most ${MAX_DEPTH} levels`, token.start, token.end);
    const predicate = token.type === '-' ? this.#negated(token) : this.#group(token);
    this.#depth -= 1;
    return predicate;
  }

  #negated(minus: Token): Predicate {
    const next = this.#peek();
    if (!next || next.start !== minus.end || next.type === ')' || this.#isWord(next, 'or') || this.#isWord(next, 'and'))
      throw new FilterError('Write a term directly after "-"', minus.start, minus.end);
    const predicate = this.#term();
    return (subject) => !predicate(subject);
  }

  #group(open: Token): Predicate {
    const first = this.#peek();
    if (first?.type === ')') throw new FilterError('Write something between "(" and ")"', open.start, first.end);
    if (!first) throw new FilterError('This "(" has no ")"', open.start, open.end);
    const predicate = this.#alternatives();
    if (!this.#peek()) throw new FilterError('This "(" has no ")"', open.start, open.end);
    this.#next += 1;
    return predicate;
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#next];
  }

  #take(): Token {
    this.#next += 1;
    return this.#tokens[this.#next - 1]!;
  }

  #takeWord(word: string): Token | undefined {
    const token = this.#peek();
    return token && this.#isWord(token, word) ? this.#take() : undefined;
  }

  #isWord({ type, start, end }: Token, word: string): boolean {
    return type === 'word' && this.#filter.slice(start, end).toLowerCase() === word;
  }

  #problem(what: string, { start, end }: Token): FilterError {
    return new FilterError(`${what} "${this.#filter.slice(start, end).toLowerCase()}"`, start, end);
  }
}

function wordPredicate(filter: string, { start, end, openQuote }: Token): Predicate {
  if (openQuote !== undefined) {
    const bracket = filter.slice(start, openQuote).lastIndexOf('[');
    if (bracket === -1) throw new FilterError('This quote does not end', openQuote, end);
  }
  const [whole, name = '', operator = ''] = KEY.exec(filter.slice(start, end)) ?? [];
  if (whole === undefined) return textPredicate(filter, start, end);
  const key = KEYS.get(name.toLowerCase());
  if (!key) {
    const message = `There is no key "${name}"${suggestion(name, KEYS.keys())}. To search for text, put it in quotes`;
    throw new FilterError(message, start, start + name.length);
  }
  if (!key.operators.includes(operator)) {
    const operators = key.operators.map((each) => `"${each}"`);
    const last = operators.pop();
    const list = operators.length === 0 ? last : `${operators.join(', ')} or ${last}`;
    const at = start + name.length;
    throw new FilterError(`"${name.toLowerCase()}" needs ${list}, as in ${key.example}`, at, at + operator.length);
  }
  const valueStart = start + whole.length;
  if (valueStart === end) throw new FilterError(`Write a value after "${whole}", as in ${key.example}`, start, end);
  return key.predicate({ filter, start: valueStart, end }, operator);
}

function textPredicate(filter: string, start: number, end: number): Predicate {
  const text = piecesOf(filter, start, end)
    .map((piece) => piece.text)
    .join('');
  if (text === '') throw new FilterError('Write something between the quotes', start, end);
  const contains = containing(text);
  return onceForBatch((subject) => {
    const own = subject.text?.();
    return own !== undefined && contains(own);
  });
}
