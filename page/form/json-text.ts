/** A value of a JSON text, with its numbers as written. */
export type JsonNode = { /** Its part of the text. */ readonly source: string } & (
  | { readonly kind: 'object'; readonly members: readonly { readonly name: string; readonly node: JsonNode }[] }
  | { readonly kind: 'list'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'number' | 'boolean' | 'null' }
);

/** Why a text is not JSON. The message says where: `line 2, column 5: a comma or } is missing`. */
export class JsonMistake extends Error {}

/** How deep a text may be nested to be read as a tree. */
const MAX_DEPTH = 500;
/** How many values a text may have to be shown as a tree: the page would freeze while it reads more. */
export const MAX_VALUES = 20_000;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const WORDS = { true: 'boolean', false: 'boolean', null: 'null' } as const;

/** Whether a text is a number as JSON writes it (RFC 8259, section 6). */
export function isJsonNumber(text: string): boolean {
  NUMBER.lastIndex = 0;
  return NUMBER.test(text) && NUMBER.lastIndex === text.length;
}

/**
 * The same JSON on one line: the blanks between its tokens are removed, and nothing else is changed. So numbers,
 * escapes, the order of members and repeated members stay as they were written.
 *
 * @throws JsonMistake if the text is not JSON.
 */
export function compactJson(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    // The messages of `JSON.parse` differ between browsers, and few name the place.
    parseJson(text);
    throw new JsonMistake((error as Error).message, { cause: error });
  }
  let compact = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]!;
    if (char === '"') at = endOfString(text, at) - 1;
    else if (isBlank(char)) {
      compact += text.slice(from, at);
      from = at + 1;
    }
  }
  return compact + text.slice(from);
}

/**
 * Reads a JSON text.
 *
 * @throws JsonMistake if the text is not JSON, nested deeper than 500 levels, or has too many values.
 */
export function parseJson(text: string, maxValues = Infinity): JsonNode {
  return new Parser(text, maxValues).document();
}

/** A value as JSON. Undefined if it is undefined, or nested too deeply. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // A peer may nest a value so deep that the stack overflows.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The position after a string that is known to be valid. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #left: number;

  constructor(text: string, maxValues: number) {
    this.#text = text;
    this.#left = maxValues;
  }

  document(): JsonNode {
    const node = this.#value();
    if (this.#next() !== undefined) this.#fail('the JSON value ends before this');
    return node;
  }

  #value(): JsonNode {
    if ((this.#left -= 1) < 0) this.#fail('the JSON has too many values for a tree');
    const char = this.#next();
    const start = this.#at;
    if (char === '{') return this.#object(start);
    if (char === '[') return this.#list(start);
    if (char === '"') return { kind: 'string', value: this.#string(), source: this.#text.slice(start, this.#at) };
    for (const [word, kind] of Object.entries(WORDS)) {
      if (!this.#text.startsWith(word, start)) continue;
      this.#at += word.length;
      return { kind, source: word };
    }
    NUMBER.lastIndex = start;
    if (!NUMBER.test(this.#text)) this.#fail('a JSON value is missing');
    this.#at = NUMBER.lastIndex;
    return { kind: 'number', source: this.#text.slice(start, this.#at) };
  }

  #object(start: number): JsonNode {
    const members: { name: string; node: JsonNode }[] = [];
    this.#each('}', () => {
      if (this.#next() !== '"') this.#fail('a name in double quotes is missing');
      const name = this.#string();
      if (this.#next() !== ':') this.#fail('a colon is missing');
      this.#at += 1;
      members.push({ name, node: this.#value() });
    });
    return { kind: 'object', members, source: this.#text.slice(start, this.#at) };
  }

  #list(start: number): JsonNode {
    const items: JsonNode[] = [];
    this.#each(']', () => items.push(this.#value()));
    return { kind: 'list', items, source: this.#text.slice(start, this.#at) };
  }

  /** Reads the members of an object or list, from its opening to its closing bracket. */
  #each(close: '}' | ']', read: () => void): void {
    if ((this.#depth += 1) > MAX_DEPTH) this.#fail(`the JSON is nested deeper than ${MAX_DEPTH} levels`);
    this.#at += 1;
    if (this.#next() !== close) {
      for (;;) {
        read();
        const char = this.#next();
        if (char === close) break;
        if (char !== ',') this.#fail(`a comma or ${close} is missing`);
        this.#at += 1;
      }
    }
    this.#at += 1;
    this.#depth -= 1;
  }

  #string(): string {
    const start = this.#at;
    for (this.#at += 1; ;) {
      const char = this.#text[this.#at];
      if (char === undefined) this.#fail('the closing quote is missing', start);
      if (char === '"') break;
      if (char < ' ') this.#fail('line breaks and control characters must be escaped: \\n');
      if (char === '\\') {
        ESCAPE.lastIndex = this.#at;
        if (!ESCAPE.test(this.#text)) this.#fail('there is no such escape');
        this.#at = ESCAPE.lastIndex;
      } else this.#at += 1;
    }
    this.#at += 1;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  /** The next character that is not blank. */
  #next(): string | undefined {
    while (isBlank(this.#text[this.#at])) this.#at += 1;
    return this.#text[this.#at];
  }

  #fail(message: string, at = this.#at): never {
    const before = this.#text.slice(0, at).split('\n');
    throw new JsonMistake(`line ${before.length}, column ${before.at(-1)!.length + 1}: ${message}`);
  }
}
