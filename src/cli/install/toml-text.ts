import { isDeepStrictEqual } from 'node:util';
import { getStaticTOMLValue, ParseError, parseTOML, type AST } from 'toml-eslint-parser';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { applyEdits, FormatError, lineEndOf, wholeLines, type Edit, type ServerText } from './server-text.ts';

/** At the beginning. */
const BLANK_LINES = /^(?:[ \t]*\r?\n)+/;

/**
 * Opens a configuration file in TOML. Each server is a table, `[mcp_servers.name]`, and a new one is added at the end.
 *
 * @param key the key of the servers.
 * @throws FormatError if the text is no such file.
 */
export function openToml(text: string, key: string): ServerText {
  return new TomlText(text, key);
}

class TomlText implements ServerText {
  readonly servers: JsonObject;
  readonly #text: string;
  readonly #key: string;
  readonly #value: JsonObject;
  readonly #body: AST.TOMLTopLevelTable['body'];

  constructor(text: string, key: string) {
    const { value, body } = parsed(text);
    const servers = value[key] ?? {};
    if (!isObject(servers)) throw new FormatError(`${key} is not a table`);
    this.servers = servers;
    this.#text = text;
    this.#key = key;
    this.#value = value;
    this.#body = body;
  }

  with(name: string, entry: JsonObject): string {
    const lineEnd = lineEndOf(this.#text);
    const before = Object.hasOwn(this.servers, name) ? this.without(name) : this.#text;
    const newline = before === '' || before.endsWith('\n') ? '' : lineEnd;
    const separator = before.trim() === '' ? '' : lineEnd;
    const table = [`[${keyOf(this.#key)}.${keyOf(name)}]`, ...Object.entries(entry).map(pair)];
    const text = `${before}${newline}${separator}${table.join(lineEnd)}${lineEnd}`;
    return this.#checked(text, { ...this.servers, [name]: entry });
  }

  without(name: string): string {
    const path = [this.#key, name];
    const parts = this.#body.flatMap((node) => partsUnder(node, path));
    const edits = parts.map(({ range: [start, end] }) => this.#removal(start, end));
    const { [name]: _, ...others } = this.servers;
    const text = applyEdits(this.#text, edits);
    // A removed first table would leave the blank lines after it.
    return this.#checked(BLANK_LINES.test(this.#text) ? text : text.replace(BLANK_LINES, ''), others);
  }

  /** Removes whole lines, and one of two blank lines that would remain around them. */
  #removal(from: number, to: number): Edit {
    const text = this.#text;
    const comment = /^[ \t]*#[^\n]*/.exec(text.slice(to))?.[0] ?? '';
    const { start, end } = wholeLines(text, from, to + comment.replace(/\r$/, '').length);
    const blank = /(?:^|\n)([ \t]*\r?\n)$/.exec(text.slice(0, start))?.[1] ?? '';
    const isBlankAfter = /^[ \t]*(?:\r?\n|$)/.test(text.slice(end));
    return { start: isBlankAfter ? start - blank.length : start, end, text: '' };
  }

  /** Checks that the servers are the expected ones, and that the rest is as before. */
  #checked(text: string, servers: JsonObject): string {
    const { [this.#key]: _, ...rest } = this.#value;
    let after: JsonObject | undefined;
    try {
      after = parsed(text).value;
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
    }
    const expected = [{ ...rest, [this.#key]: servers }, ...(Object.keys(servers).length === 0 ? [rest] : [])];
    if (!expected.some((each) => isDeepStrictEqual(after, each))) {
      throw new FormatError(`${this.#key} is not written as tables such as [${this.#key}.name]: change it by hand`);
    }
    return text;
  }
}

/** The tables and pairs that are below a path of keys. */
function partsUnder(
  node: AST.TOMLTable | AST.TOMLKeyValue,
  path: readonly string[],
  parents: readonly (string | number)[] = [],
): (AST.TOMLTable | AST.TOMLKeyValue)[] {
  const own = node.type === 'TOMLTable' ? node.resolvedKey : [...parents, ...keysOf(node)];
  if (path.every((key, at) => own[at] === key)) return [node];
  return node.type === 'TOMLTable' ? node.body.flatMap((each) => partsUnder(each, path, own)) : [];
}

function keysOf({ key }: AST.TOMLKeyValue): string[] {
  return key.keys.map((each) => (each.type === 'TOMLBare' ? each.name : each.value));
}

/** @throws FormatError with the position of the mistake. */
function parsed(text: string): { value: JsonObject; body: AST.TOMLTopLevelTable['body'] } {
  try {
    const program = parseTOML(text, { tomlVersion: '1.0' });
    return { value: getStaticTOMLValue(program), body: program.body[0].body };
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    const { lineNumber, column } = error;
    throw new FormatError(`line ${lineNumber}, column ${column + 1}: this is not valid TOML`, { cause: error });
  }
}

function pair([key, value]: [string, unknown]): string {
  return `${keyOf(key)} = ${valueOf(value)}`;
}

function keyOf(key: string): string {
  return /^[\w-]+$/.test(key) ? key : stringOf(key);
}

/** An entry has only strings, lists of strings, and objects of strings. */
function valueOf(value: unknown): string {
  if (typeof value === 'string') return stringOf(value);
  if (Array.isArray(value)) return `[${value.map(valueOf).join(', ')}]`;
  return `{ ${Object.entries(value as JsonObject)
    .map(pair)
    .join(', ')} }`;
}

/** A basic string of TOML has the escapes of JSON, and must also escape DEL. */
function stringOf(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}
