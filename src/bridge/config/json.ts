/** Deeper nesting than this is refused: no host writes it, and it would exhaust the stack. */
const MAX_DEPTH = 100;

/** What is wrong with a text that should be JSON, and where. Nothing of the text is repeated: there may be secrets in it. */
export class JsonProblem extends Error {
  override readonly name = 'JsonProblem';
  /** From 1, as is the column. */
  readonly line: number;
  readonly column: number;

  constructor(text: string, at: number, problem: string) {
    const before = text.slice(0, at).split('\n');
    const line = before.length;
    const column = before.at(-1)!.length + 1;
    super(`line ${line}, column ${column}: ${problem}`);
    this.line = line;
    this.column = column;
  }
}

/**
 * Reads JSON as the configuration files of editors have it: with comments of either kind, commas behind the last entry,
 * and a byte order mark. Of a key that is given twice, the last counts.
 *
 * @throws JsonProblem where it is something else.
 */
export function parseConfigJson(text: string): unknown {
  return new Parser(text).parse();
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERALS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): unknown {
    if (this.#text.startsWith('\uFEFF')) this.#at = 1;
    const value = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) throw this.#problem('there is something behind the end');
    return value;
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw this.#problem(`it is nested deeper than ${MAX_DEPTH} levels`);
    this.#space();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      case undefined:
        throw this.#problem('it ends too early');
      default:
        return this.#scalar();
    }
  }

  #object(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#entries('}', () => {
      if (this.#text[this.#at] !== '"') throw this.#problem('a key in double quotes is expected');
      const key = this.#string();
      this.#space();
      if (this.#text[this.#at] !== ':') throw this.#problem('a colon is expected');
      this.#at += 1;
      const value = this.#value(depth + 1);
      // An assignment to `__proto__` would change what the object is.
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
    });
    return object;
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    this.#entries(']', () => void array.push(this.#value(depth + 1)));
    return array;
  }

  #entries(close: string, read: () => void): void {
    this.#at += 1;
    for (;;) {
      this.#space();
      if (this.#text[this.#at] === close) break;
      if (this.#at >= this.#text.length) throw this.#problem('it ends too early');
      read();
      this.#space();
      if (this.#text[this.#at] === close) break;
      if (this.#at >= this.#text.length) throw this.#problem('it ends too early');
      if (this.#text[this.#at] !== ',') throw this.#problem(`a comma or ${close} is expected`);
      this.#at += 1;
    }
    this.#at += 1;
  }

  #string(): string {
    const start = this.#at;
    for (this.#at += 1; this.#text[this.#at] !== '"'; this.#at += 1) {
      const character = this.#text[this.#at];
      if (character === undefined || character < ' ') throw this.#problem('a text does not end');
      if (character === '\\') this.#at += 1;
    }
    this.#at += 1;
    try {
      return JSON.parse(this.#text.slice(start, this.#at)) as string;
    } catch {
      this.#at = start;
      throw this.#problem('a text has a wrong escape in it; a backslash is written \\\\');
    }
  }

  #scalar(): unknown {
    NUMBER.lastIndex = this.#at;
    const number = NUMBER.exec(this.#text)?.[0];
    if (number !== undefined) {
      this.#at += number.length;
      return Number(number);
    }
    const literal = LITERALS.find(([word]) => this.#text.startsWith(word, this.#at));
    if (!literal) throw this.#problem('a value is expected');
    this.#at += literal[0].length;
    return literal[1];
  }

  /** Goes on behind blanks and comments. */
  #space(): void {
    for (;;) {
      while (' \t\r\n'.includes(this.#text[this.#at] ?? '-')) this.#at += 1;
      if (this.#text.startsWith('//', this.#at)) {
        const end = this.#text.indexOf('\n', this.#at);
        this.#at = end === -1 ? this.#text.length : end;
      } else if (this.#text.startsWith('/*', this.#at)) {
        const end = this.#text.indexOf('*/', this.#at + 2);
        if (end === -1) throw this.#problem('a comment does not end');
        this.#at = end + 2;
      } else return;
    }
  }

  #problem(problem: string): JsonProblem {
    return new JsonProblem(this.#text, this.#at, problem);
  }
}
