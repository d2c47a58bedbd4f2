import { evaluate, parse, type DocumentNode, type ObjectNode, type ValueNode } from '@humanwhocodes/momoa';
import { endOfString } from '../../jsonrpc/bounds.ts';

/**
 * The parser takes up to 2 KB for each key and value. A folder that somebody else made may have such a file, and the
 * command line looks for the usual names.
 */
const MAX_KEYS_AND_VALUES = 500_000;
/** What ends a comment in a line. */
const LINE_END = /[\n\r\u2028\u2029]/g;

/** An error for a text that is not JSON. The message does not quote the text, which may be secret. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * Parses JSON as in editors' configuration files: comments, trailing commas and a byte order mark are allowed. If a key
 * occurs more than once, the last one counts.
 */
export class ConfigJson {
  readonly value: unknown;
  readonly #root: DocumentNode;
  /** The members of the objects that positions were asked for. */
  readonly #members = new Map<ObjectNode, ReadonlyMap<string, Step>>();

  /** @throws JsonError */
  constructor(text: string) {
    if (hasTooMany(text)) throw new JsonError(`this JSON has more than ${MAX_KEYS_AND_VALUES} keys and values`);
    try {
      this.#root = parse(text.replace(/^\uFEFF/, ''), { mode: 'jsonc', allowTrailingCommas: true });
      this.value = evaluate(this.#root);
    } catch (error) {
      const { message, line, column } = error as Error & Partial<Position>;
      if (message.startsWith('Unexpected end')) throw new JsonError('this is not valid JSON: the file ends too early');
      if (line !== undefined && column !== undefined)
        throw new JsonError(`${written({ line, column })}: this is not valid JSON`);
      if (!(error instanceof RangeError)) throw error;
      throw new JsonError('this JSON is nested too deeply', { cause: error });
    }
  }

  /** The line and column of a key or a list item. If it does not exist, the position of its parent. */
  position(path: readonly (string | number)[]): string {
    let at: Step = { value: this.#root.body, loc: this.#root.body.loc };
    for (const key of path) {
      const next = this.#stepInto(at.value, key);
      if (!next) break;
      at = next;
    }
    return written(at.loc.start);
  }

  #stepInto(value: ValueNode, key: string | number): Step | undefined {
    if (value.type === 'Array') return value.elements[Number(key)];
    return value.type === 'Object' ? this.#membersOf(value).get(String(key)) : undefined;
  }

  /** By key. An object may have very many, and a problem with each. */
  #membersOf(object: ObjectNode): ReadonlyMap<string, Step> {
    let members = this.#members.get(object);
    if (!members) {
      members = new Map(
        object.members.map((member) => [member.name.type === 'String' ? member.name.value : '', member]),
      );
      this.#members.set(object, members);
    }
    return members;
  }
}

/** Whether a text has more keys and values than the limit. An empty array or object counts as two values. */
function hasTooMany(text: string): boolean {
  let count = 1;
  for (let at = 0; at < text.length && count <= MAX_KEYS_AND_VALUES; at += 1) {
    const character = text[at]!;
    if (character === '"') at = endOfString(text, at);
    else if (character === '/') at = endOfComment(text, at);
    else if (',:[{'.includes(character)) count += 1;
  }
  return count > MAX_KEYS_AND_VALUES;
}

/** The position of the last character of a comment that may begin here. */
function endOfComment(text: string, start: number): number {
  if (text[start + 1] === '*') {
    const end = text.indexOf('*/', start + 2);
    return end < 0 ? text.length : end + 1;
  }
  if (text[start + 1] !== '/') return start;
  LINE_END.lastIndex = start;
  return LINE_END.exec(text)?.index ?? text.length;
}

/** A member of an object or an item of a list, and where it starts. */
interface Step {
  readonly value: ValueNode;
  readonly loc: { readonly start: Position };
}

function written({ line, column }: Position): string {
  return `line ${line}, column ${column}`;
}
