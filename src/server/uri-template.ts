import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';

/** The longest URI that is matched, in characters. */
const MAX_URI = 64 * 1024;

/** A variable matches text without `/`, `?` and `#`. A reserved variable (`{+path}`) matches any text. */
type Part = { readonly literal: string } | { readonly variable: string; readonly reserved: boolean };

/**
 * The names of the variables in a template literal: `TemplateVariables<'db://{table}{?limit}'>` is `{ table: string;
 * limit?: string }`.
 */
export type TemplateVariables<T extends string> = string extends T
  ? Record<string, string>
  : { [K in PathNames<T>]: string } & { [K in QueryNames<T>]?: string };

type PathNames<T extends string> = T extends `${string}{${infer E}}${infer Rest}`
  ? PathName<E> | PathNames<Rest>
  : never;
type PathName<E extends string> = E extends `?${string}`
  ? never
  : E extends `+${infer N}` | `/${infer N}`
    ? Split<N>
    : Split<E>;
type QueryNames<T extends string> = T extends `${string}{?${infer E}}` ? Split<E> : never;
type Split<E extends string> = E extends `${infer Head},${infer Rest}` ? Head | Split<Rest> : E;

/**
 * Matches URIs against a URI template (RFC 6570): `{var}`, `{a,b}`, `{/var}`, one reserved `{+var}`, and `{?a,b}` at
 * the end. The parts after the reserved variable are matched from the right, all others from the left. Without a
 * reserved variable, only the text after the last variable is matched from the right. Each variable matches as little
 * as possible and is never tried again with more, so the time is linear in the length of any URI. Variables of the path
 * must not be empty. Those of the query may be absent.
 */
export class UriTemplate {
  readonly template: string;
  /** All variables, in order. */
  readonly names: readonly string[];
  readonly #left: readonly Part[];
  readonly #reserved: string | undefined;
  /** The parts that are matched from the right, the last part first. */
  readonly #right: readonly Part[];
  readonly #query: readonly string[] | undefined;

  /** @throws TypeError if the template is malformed, ambiguous, or uses an operator that is not supported. */
  constructor(template: string) {
    this.template = template;
    const { parts, query } = parse(template);
    const reserved = parts.find((part) => 'variable' in part && part.reserved);
    const split =
      reserved === undefined ? parts.findLastIndex((part) => 'variable' in part) + 1 : parts.indexOf(reserved);
    this.#query = query;
    this.#left = parts.slice(0, split);
    this.#reserved = reserved !== undefined && 'variable' in reserved ? reserved.variable : undefined;
    this.#right = parts.slice(reserved === undefined ? split : split + 1).toReversed();
    this.names = [...parts.flatMap((part) => ('variable' in part ? [part.variable] : [])), ...(query ?? [])];
    if (new Set(this.names).size < this.names.length) throw malformed(template, 'a variable occurs twice');
  }

  /**
   * The variables of a URI, percent-decoded. Undefined if the URI does not match. The values come from the caller: a
   * decoded value can contain any character, including `/` and `..`. If the query has a variable more than once, the
   * last value counts.
   *
   * @throws RpcError −32602 if a percent-encoding is broken, or the URI is longer than 65,536 characters.
   */
  match(uri: string): Record<string, string> | undefined {
    if (uri.length > MAX_URI) {
      const message = `Invalid params: a resource URI must not be longer than ${MAX_URI} characters`;
      throw new RpcError(ErrorCode.InvalidParams, message);
    }
    const question = this.#query === undefined ? -1 : uri.indexOf('?');
    const found: [name: string, raw: string][] = [];
    const whole = question === -1 ? uri : uri.slice(0, question);
    const end = fromRight(whole, this.#right, found);
    if (end === -1) return undefined;
    const path = whole.slice(0, end);
    const start = fromLeft(path, this.#left, found);
    if (start === -1) return undefined;
    if (this.#reserved !== undefined) {
      if (start === end) return undefined;
      found.push([this.#reserved, path.slice(start)]);
    } else if (start < end) return undefined;
    if (question !== -1) this.#readQuery(uri.slice(question + 1), found);
    return Object.fromEntries(found.map(([name, raw]) => [name, decode(raw, uri)]));
  }

  /** Whether a URI matches. A URI with a broken percent-encoding does not. */
  fits(uri: string): boolean {
    try {
      return this.match(uri) !== undefined;
    } catch {
      return false;
    }
  }

  #readQuery(query: string, found: [string, string][]): void {
    const values = new Map<string, string>();
    for (const pair of query.split('&')) {
      const equals = pair.indexOf('=');
      const name = equals === -1 ? pair : pair.slice(0, equals);
      if (this.#query?.includes(name)) values.set(name, equals === -1 ? '' : pair.slice(equals + 1));
    }
    found.push(...values);
  }
}

/** Matches parts from the start of the path. Returns the position after them, or −1. */
function fromLeft(path: string, parts: readonly Part[], found: [string, string][]): number {
  let at = 0;
  for (const [index, part] of parts.entries()) {
    if ('literal' in part) {
      if (!path.startsWith(part.literal, at)) return -1;
      at += part.literal.length;
      continue;
    }
    let end = at;
    while (end < path.length && !isDelimiter(path[end])) end += 1;
    const next = parts[index + 1];
    if (next !== undefined && 'literal' in next) {
      // The search begins at the second character, because the first belongs to the variable.
      const stop = path.slice(at, end + next.literal.length).indexOf(next.literal, 1);
      if (stop === -1) return -1;
      end = at + stop;
    }
    if (end === at) return -1;
    found.push([part.variable, path.slice(at, end)]);
    at = end;
  }
  return at;
}

/** Matches parts (last one first) from the end of the path. Returns where they begin, or −1. */
function fromRight(path: string, parts: readonly Part[], found: [string, string][]): number {
  let at = path.length;
  for (const [index, part] of parts.entries()) {
    if ('literal' in part) {
      if (!path.slice(0, at).endsWith(part.literal)) return -1;
      at -= part.literal.length;
      continue;
    }
    let start = at;
    while (start > 0 && !isDelimiter(path[start - 1])) start -= 1;
    const next = parts[index + 1];
    if (next !== undefined && 'literal' in next) {
      // Up to the last character, which belongs to the variable.
      const from = Math.max(0, start - next.literal.length);
      const stop = path.slice(from, Math.max(from, at - 1)).lastIndexOf(next.literal);
      if (stop === -1) return -1;
      start = from + stop + next.literal.length;
    }
    if (start === at) return -1;
    found.push([part.variable, path.slice(start, at)]);
    at = start;
  }
  return at;
}

function isDelimiter(character: string | undefined): boolean {
  return character === '/' || character === '?' || character === '#';
}

function decode(raw: string, uri: string): string {
  try {
    return decodeURIComponent(raw);
  } catch (cause) {
    throw new RpcError(ErrorCode.InvalidParams, 'The resource URI has a broken percent-encoding', {
      data: { uri },
      cause,
    });
  }
}

function parse(template: string): { parts: Part[]; query: string[] | undefined } {
  const parts: Part[] = [];
  let query: string[] | undefined;
  let at = 0;
  while (at < template.length) {
    if (query !== undefined) throw malformed(template, '{?...} must be at the end');
    const open = template.indexOf('{', at);
    const close = template.indexOf('}', at);
    const literal = template.slice(at, open === -1 ? template.length : open);
    if (literal.includes('}')) throw malformed(template, 'a } without {');
    if (literal !== '') push(parts, { literal });
    if (open === -1) break;
    if (close === -1) throw malformed(template, 'a { without }');
    const [, operator = '', list = ''] = /^([^\w%]?)(.*)$/s.exec(template.slice(open + 1, close)) ?? [];
    const names = list.split(',');
    if (!names.every((name) => /^[\w.%]+$/.test(name)))
      throw malformed(template, `{${operator}${list}} is not supported`);
    if (operator === '?') query = names;
    else addVariables(parts, template, operator, names);
    at = close + 1;
  }
  return { parts, query };
}

function addVariables(parts: Part[], template: string, operator: string, names: readonly string[]): void {
  if (operator !== '' && operator !== '+' && operator !== '/')
    throw malformed(template, `operator ${operator} is not supported`);
  if (operator === '+' && (names.length > 1 || parts.some((part) => 'variable' in part && part.reserved))) {
    throw malformed(template, 'it can have only one reserved variable {+name}');
  }
  for (const [index, name] of names.entries()) {
    if (operator === '/') push(parts, { literal: '/' });
    else if (index > 0) push(parts, { literal: ',' });
    const last = parts.at(-1);
    if (last !== undefined && 'variable' in last)
      throw malformed(template, `there must be text between {${last.variable}} and {${name}}`);
    parts.push({ variable: name, reserved: operator === '+' });
  }
}

/** Joins neighbouring literals, so that a variable sees all of the text after it. */
function push(parts: Part[], part: { literal: string }): void {
  const last = parts.at(-1);
  if (last !== undefined && 'literal' in last) parts[parts.length - 1] = { literal: last.literal + part.literal };
  else parts.push(part);
}

function malformed(template: string, why: string): TypeError {
  return new TypeError(`URI template ${template}: ${why}`);
}
