import {
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
  type JSONPath,
  type Node,
  type ParseError,
} from 'jsonc-parser';

/** Messages for the parser's errors. No message repeats text of the file, because it may contain secrets. */
const MESSAGES: Readonly<Record<string, string>> = {
  InvalidSymbol: 'expected a value, or a key in double quotes',
  PropertyNameExpected: 'expected a key in double quotes',
  ValueExpected: 'expected a value',
  ColonExpected: 'expected a colon',
  CommaExpected: 'expected a comma or a closing bracket',
  CloseBraceExpected: 'expected a comma or }',
  CloseBracketExpected: 'expected a comma or ]',
  EndOfFileExpected: 'there is more text after the end',
  UnexpectedEndOfComment: 'this comment does not end',
  UnexpectedEndOfString: 'this string does not end on its line',
  UnexpectedEndOfNumber: 'this number is incomplete',
  InvalidEscapeCharacter: 'this string has an invalid escape; write a backslash as \\\\',
  InvalidUnicode: 'this string has an invalid escape; write a backslash as \\\\',
  InvalidCharacter: 'this string has a control character',
};

/** A text that is not JSON. The message starts with the line and the column. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/**
 * Parses JSON as in editors' configuration files: comments, trailing commas and a byte order mark are allowed. If a key
 * occurs more than once, the last one counts.
 */
export class ConfigJson {
  readonly value: unknown;
  readonly #text: string;
  readonly #root: Node;

  /** @throws JsonError */
  constructor(text: string) {
    this.#text = text.replace(/^\uFEFF/, '');
    this.#root = this.#parse();
    this.value = getNodeValue(this.#root);
  }

  /** The line and column of a key or a list item. If it does not exist, those of its parent. */
  position(path: JSONPath): string {
    const node = findNodeAtLocation(this.#root, path);
    if (!node) return this.position(path.slice(0, -1));
    return this.#positionAt((node.parent?.type === 'property' ? node.parent : node).offset);
  }

  #parse(): Node {
    const errors: ParseError[] = [];
    let root: Node | undefined;
    try {
      root = parseTree(this.#text, errors, { allowTrailingComma: true });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new JsonError(`${this.#positionAt(0)}: this JSON is nested too deeply`, { cause: error });
    }
    const [first] = errors;
    if (!first && root) return root;
    const offset = first?.offset ?? 0;
    const ended = offset >= this.#text.trimEnd().length;
    const problem = ended ? 'the file ends too early' : MESSAGES[printParseErrorCode(first!.error)];
    throw new JsonError(`${this.#positionAt(offset)}: this is not valid JSON: ${problem}`);
  }

  #positionAt(offset: number): string {
    const lines = this.#text.slice(0, offset).split('\n');
    return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
  }
}
