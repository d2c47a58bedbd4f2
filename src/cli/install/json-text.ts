import { isDeepStrictEqual } from 'node:util';
import { parse, type MemberNode, type ObjectNode, type Token, type ValueNode } from '@humanwhocodes/momoa';
import { ConfigJson, JsonError } from '../../bridge/config/json.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import {
  applyEdits,
  blankStart,
  FormatError,
  indentAt,
  lineEndOf,
  lineIndent,
  wholeLines,
  type Edit,
  type ServerText,
} from './server-text.ts';

/** The indentation of a new file. */
const USUAL_INDENT = '  ';

/**
 * Opens a configuration file in JSON, with comments and trailing commas as editors allow. The parser gives the position
 * of each part, so an edit only inserts or removes some characters.
 *
 * @param key the key of the servers.
 * @throws FormatError if the text is no such file.
 */
export function openJson(text: string, key: string): ServerText {
  if (text.trim() === '') {
    const added = (name: string, entry: JsonObject): string =>
      written({ [key]: { [name]: entry } }, USUAL_INDENT, '', '\n') + '\n';
    return { servers: {}, with: added, without: () => text };
  }
  return new JsonText(text, key);
}

class JsonText implements ServerText {
  readonly servers: JsonObject;
  readonly #text: string;
  readonly #key: string;
  readonly #value: JsonObject;
  readonly #root: ObjectNode;
  /** Undefined if the file has no servers yet. */
  readonly #section: ObjectNode | undefined;
  readonly #tokens: readonly Token[];
  readonly #lineEnd: string;

  constructor(text: string, key: string) {
    const { value, positionOf } = parsed(text);
    const document = parse(text, { mode: 'jsonc', allowTrailingCommas: true, tokens: true });
    const root = document.body;
    if (root.type !== 'Object' || !isObject(value)) throw new FormatError(`${positionOf([])}: this is not an object`);
    const section = memberOf(root, key)?.value;
    const servers = value[key];
    if (section !== undefined && (section.type !== 'Object' || !isObject(servers))) {
      throw new FormatError(`${positionOf([key])}: ${key} is not an object`);
    }
    this.servers = isObject(servers) ? servers : {};
    this.#text = text;
    this.#key = key;
    this.#value = value;
    this.#root = root;
    this.#section = section;
    this.#tokens = document.tokens ?? [];
    this.#lineEnd = lineEndOf(text);
  }

  with(name: string, entry: JsonObject): string {
    const section = this.#section;
    const existing = section && memberOf(section, name);
    const edits = existing
      ? [this.#replace(existing.value, entry)]
      : section
        ? this.#append(section, name, entry)
        : this.#append(this.#root, this.#key, { [name]: entry });
    return this.#checked(edits, { ...this.servers, [name]: entry });
  }

  without(name: string): string {
    const { [name]: _, ...others } = this.servers;
    // A name that is listed twice would otherwise come back.
    const members = this.#section!.members.filter((member) => nameOf(member) === name);
    return this.#checked(this.#remove(this.#section!, members), others);
  }

  /** Applies the edits, and checks that the servers are the expected ones and that the rest is as before. */
  #checked(edits: readonly Edit[], servers: JsonObject): string {
    const text = applyEdits(this.#text, edits);
    if (!isDeepStrictEqual(parsed(text).value, { ...this.#value, [this.#key]: servers })) {
      throw new FormatError('the file cannot be changed without changing other parts of it');
    }
    return text;
  }

  #replace({ loc }: ValueNode, entry: JsonObject): Edit {
    const { start, end } = offsets(loc);
    const text = this.#isOneLine(this.#root.loc)
      ? JSON.stringify(entry)
      : written(entry, this.#unit(), lineIndent(this.#text, start), this.#lineEnd);
    return { start, end, text };
  }

  /** Adds a member at the end of an object, in the style of the object. */
  #append(object: ObjectNode, name: string, value: JsonObject): Edit[] {
    const text = this.#text;
    const { start: open, end: close } = inner(object);
    const last = object.members.at(-1);
    const inside = this.#tokens.filter(({ loc }) => loc.start.offset >= open && loc.end.offset <= close);
    // Comments after the last member stay with it.
    const at = inside.at(-1)?.loc.end.offset ?? open;
    if (last && this.#isOneLine(object.loc)) {
      const comma = endsWithComma(inside) ? '' : ',';
      const space = /\s/.test(text[open]!) || comma === '' ? ' ' : '';
      return [
        { start: last.loc.end.offset, end: last.loc.end.offset, text: comma },
        { start: at, end: at, text: `${space}${JSON.stringify(name)}:${space}${JSON.stringify(value)}` },
      ];
    }
    const unit = this.#unit();
    const first = object.members[0];
    const base = lineIndent(text, open - 1);
    const indent = (first && indentAt(text, first.loc.start.offset)) ?? base + unit;
    const member = `${JSON.stringify(name)}: ${written(value, unit, indent, this.#lineEnd)}`;
    const closesOnOwnLine = text.slice(at, close).includes('\n');
    const added = this.#lineEnd + indent + member;
    if (!last) {
      // Whitespace without a line end has no meaning in an empty object.
      const end = closesOnOwnLine ? at : close;
      return [{ start: at, end, text: added + (end === close ? this.#lineEnd + base : '') }];
    }
    const comma = { start: last.loc.end.offset, end: last.loc.end.offset, text: ',' };
    const closing = closesOnOwnLine ? '' : this.#lineEnd + base;
    return endsWithComma(inside)
      ? [{ start: at, end: at, text: `${added},${closing}` }]
      : [comma, { start: at, end: at, text: added + closing }];
  }

  #remove(object: ObjectNode, removed: readonly MemberNode[]): Edit[] {
    const kept = object.members.filter((member) => !removed.includes(member));
    const text = this.#text;
    const edits = removed.map((member): Edit => {
      const comma = this.#commaAfter(member);
      const from = member.loc.start.offset;
      const to = comma?.loc.end.offset ?? member.loc.end.offset;
      const part = wholeLines(text, from, to);
      if (part.start !== from || part.end !== to) return { ...part, text: '' };
      // In a line with others, the spaces to its neighbour go too.
      const start = comma ? from : blankStart(text, from);
      const after = comma ? /^[ \t]*/.exec(text.slice(to))![0].length : 0;
      return { start, end: to + after, text: '' };
    });
    const last = kept.at(-1);
    const lastRemoved = removed.at(-1)!;
    // Without a member after it, a comma stays only if there was one at the end before.
    if (last && last.loc.start.offset < lastRemoved.loc.start.offset && !this.#commaAfter(object.members.at(-1)!)) {
      const { start, end } = offsets(this.#commaAfter(last)!.loc);
      edits.push({ start, end, text: '' });
    }
    return edits;
  }

  #commaAfter(member: MemberNode): Token | undefined {
    const next = this.#tokens.find(
      ({ type, loc }) => loc.start.offset >= member.loc.end.offset && !type.endsWith('Comment'),
    );
    return next?.type === 'Comma' ? next : undefined;
  }

  #isOneLine({ start, end }: { start: { line: number }; end: { line: number } }): boolean {
    return start.line === end.line;
  }

  /** The indentation of one level. */
  #unit(): string {
    const first = this.#root.members[0];
    return (first && indentAt(this.#text, first.loc.start.offset)) || USUAL_INDENT;
  }
}

/** @throws FormatError with the position of the mistake. */
function parsed(text: string): { value: unknown; positionOf: (path: readonly string[]) => string } {
  try {
    const json = new ConfigJson(text);
    return { value: json.value, positionOf: (path) => json.position(path) };
  } catch (error) {
    if (error instanceof JsonError) throw new FormatError(error.message, { cause: error });
    throw error;
  }
}

/** The member that counts, if there are several of one name. */
function memberOf(object: ObjectNode, name: string): MemberNode | undefined {
  return object.members.findLast((member) => nameOf(member) === name);
}

function nameOf({ name }: MemberNode): string | undefined {
  return name.type === 'String' ? name.value : undefined;
}

function offsets({ start, end }: { start: { offset: number }; end: { offset: number } }): {
  start: number;
  end: number;
} {
  return { start: start.offset, end: end.offset };
}

/** The part between the braces. */
function inner({ loc }: ObjectNode): { start: number; end: number } {
  return { start: loc.start.offset + 1, end: loc.end.offset - 1 };
}

function endsWithComma(tokens: readonly Token[]): boolean {
  return tokens.findLast(({ type }) => !type.endsWith('Comment'))?.type === 'Comma';
}

/** A value over several lines. @param indent of the line where it begins. */
function written(value: JsonObject, unit: string, indent: string, lineEnd: string): string {
  return JSON.stringify(value, undefined, unit).replaceAll('\n', lineEnd + indent);
}
