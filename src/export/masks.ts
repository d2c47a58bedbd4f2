import { scrubber } from '../auth/scrub.ts';
import { isSecretName, SecretParameters } from '../inspect/secrets.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { RecordedWire } from './recorded-wire.ts';

/** What stands for a secret. */
export const MASK = '**********';
/** Members of the protocol whose names look like those of secrets. */
const HARMLESS: ReadonlySet<string> = new Set(['progressToken', 'authorizationUrl']);
/** The members of a JSON Schema that have names of other members. What is below them is no value. */
const OF_SCHEMAS: ReadonlySet<string | undefined> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas'],
  ...['$defs', 'definitions'],
]);
/** What is secret also as a number. Other names, such as `maxTokens`, are of numbers that are none. */
const SECRET_NUMBER = /secret|passw|passphrase|pwd/i;
/** The header of a session, and the names that servers of HTTP+SSE give to its parameter. Who knows the id can use the session. */
const SESSION_HEADER = 'mcp-session-id';
const SESSION_PARAMETER = /[?&]session_?id=([^&#\s]+)/gi;
/**
 * A name in a text and what is before its value, such as `PASSWORD=` or `"token": "`, or the option of a command, such as
 * `--token `. JSON may be text in other JSON.
 */
const NAME = /(?<![\w.-])(?:([\w.-]+)\\*["']?\s*[:=]|(--[\w-]+)(?=\s))\s*(\\*["']?)/g;
/**
 * The value after a name, by what is before it: nothing, a quote, or an escaped quote. It may begin with the name of a
 * scheme.
 */
const VALUES: Readonly<Record<string, RegExp>> = {
  '': /(?:(?:bearer|basic|dpop)\s+)?[^\s"'\\,;&}\]]+/iy,
  '"': /(?:[^"\\\n]|\\[^\n])+/y,
  "'": /(?:[^'\\\n]|\\[^\n])+/y,
  '\\"': /(?:[^"\\\n]|\\[^"\n])+/y,
  "\\'": /(?:[^'\\\n]|\\[^'\n])+/y,
};
const SCHEME = /^(?:bearer|basic|dpop)\s+/i;

/** What stands for a secret of a name. */
export type MaskOf = (name: string) => string;

/**
 * Removes secrets from what leaves the process: the values of headers, parameters and JSON members whose names say that
 * they are secret, and the same values wherever they are.
 */
export class Masks {
  readonly #scrub: (text: string) => string;

  /** Finds the secrets of a recording. */
  constructor({ exchanges, parts }: RecordedWire) {
    const found = new Set<string>();
    for (const { request, response, body, responseBody } of exchanges) {
      for (const [name, value] of [...request.headers, ...(response?.headers ?? [])])
        for (const word of wordsOf(name, value)) found.add(word);
      for (const value of parametersOf(request.first[1])) found.add(value);
      for (const text of [body, responseBody])
        if (!isOfMessages(text)) for (const value of valuesIn(text)) found.add(value);
      for (const [, id] of `${request.first[1]}\n${responseBody}`.matchAll(SESSION_PARAMETER)) found.add(id!);
    }
    for (const { kind, text } of parts)
      if (kind !== 'head') for (const value of kind === 'message' ? membersOf(text) : valuesIn(text)) found.add(value);
    this.#scrub = scrubber([...found].filter((each) => !/^[\d.]*$/.test(each) && !/^\*+$/.test(each)));
  }

  /** A text without secrets. */
  text(text: string): string {
    let masked = '';
    let done = 0;
    for (const [start, end] of namedIn(text)) {
      masked += text.slice(done, start) + MASK;
      done = end;
    }
    return this.#scrub(masked + text.slice(done));
  }

  /**
   * Any JSON without secrets.
   *
   * @param maskOf what stands for the secret member of a name.
   */
  value(value: unknown, maskOf: MaskOf = () => MASK): unknown {
    return mapTexts(value, (text, secret) => (secret === undefined ? this.text(text) : maskOf(secret)), this.#scrub);
  }

  /** A message, or the text of an event stream, without secrets. */
  message(text: string, maskOf?: MaskOf): string {
    try {
      return JSON.stringify(this.value(JSON.parse(text), maskOf));
    } catch {
      if (!/^data:/m.test(text)) return this.text(text);
    }
    const lines = text.split('\n').map((line) => {
      const [, name, data] = /^(data: ?)(.*)$/s.exec(line) ?? [];
      if (name === undefined || data === undefined) return this.text(line);
      return name + (data.trimStart().startsWith('{') ? this.message(data) : this.text(data));
    });
    return lines.join('\n');
  }

  /** The target of a request, or a URL. @param maskOf what stands for the secret parameter of a name. */
  target(target: string, maskOf: MaskOf = () => MASK): string {
    let masked = '';
    let done = 0;
    for (const [start, end] of new SecretParameters().next(target)) {
      const [, name = ''] = /([^?&=]+)=$/.exec(target.slice(0, start)) ?? [];
      masked += this.text(target.slice(done, start)) + maskOf(name);
      done = end;
    }
    return masked + this.text(target.slice(done));
  }

  /** The value of a header. */
  header(name: string, value: string): string {
    return isSecretName(name) || name.toLowerCase() === SESSION_HEADER ? MASK : this.target(value);
  }

  /** The head of an HTTP message. */
  head(text: string): string {
    const [first = '', ...rest] = text.split('\r\n');
    const lines = rest.map((line) => {
      const [name = '', ...value] = line.split(':');
      return value.length === 0 ? this.#scrub(line) : `${name}: ${this.header(name, value.join(':').trim())}`;
    });
    return [this.target(first), ...lines].join('\r\n').trimEnd();
  }
}

/** The secrets in a header. The password of basic credentials may also stand elsewhere, without their encoding. */
function wordsOf(name: string, value: string): string[] {
  if (name.toLowerCase() === SESSION_HEADER) return [value];
  if (!isSecretName(name)) return [];
  const [, basic] = /^basic\s+([\w+/]+=*)$/i.exec(value) ?? [];
  return [...value.split(/[\s;,=]+/), value.replace(SCHEME, ''), ...(basic === undefined ? [] : [passwordIn(basic)])];
}

/** The password of basic credentials (RFC 7617, section 2). */
function passwordIn(credentials: string): string {
  try {
    const bytes = Uint8Array.from(atob(credentials), (character) => character.charCodeAt(0));
    return new TextDecoder().decode(bytes).replace(/^[^:]*:/, '');
  } catch {
    return '';
  }
}

function isSecret(name: string): boolean {
  return isSecretName(name) && !HARMLESS.has(name);
}

function parametersOf(target: string): string[] {
  return new SecretParameters().next(target).map(([start, end]) => target.slice(start, end));
}

/** The places of the values in a text whose names say that they are secret. */
function* namedIn(text: string): Generator<[start: number, end: number]> {
  let done = 0;
  for (const { 0: before, 1: named, 2: option, 3: quote, index } of text.matchAll(NAME)) {
    const start = index + before.length;
    if (start < done || !isSecret((named ?? option)!)) continue;
    const pattern = VALUES[quote!.slice(-2)] ?? VALUES['']!;
    pattern.lastIndex = start;
    const [value] = pattern.exec(text) ?? [];
    if (value === undefined) continue;
    done = start + value.length;
    yield [start, done];
  }
}

/** These values, without the names of schemes. */
function valuesIn(text: string): string[] {
  return Array.from(namedIn(text), ([start, end]) => text.slice(start, end).replace(SCHEME, ''));
}

/** Whether a body has messages. They are looked at on their own. */
function isOfMessages(body: string): boolean {
  return /^\s*[[{]/.test(body) || /^data:/m.test(body);
}

/** The secret members of a JSON text, and what is named as secret in its strings. */
function membersOf(text: string): string[] {
  const found: string[] = [];
  const look = (each: string, secret: string | undefined): string => {
    for (const value of secret === undefined ? valuesIn(each) : [each]) found.push(value);
    return each;
  };
  try {
    mapTexts(JSON.parse(text), look);
  } catch {
    // It is no JSON, or too deep to walk through.
    return found.concat(valuesIn(text));
  }
  return found;
}

/**
 * Any JSON with other texts.
 *
 * @param change also gets the name of the secret member that a text is in.
 * @param rename changes the names of members.
 */
function mapTexts(
  value: unknown,
  change: (text: string, secret: string | undefined) => string,
  rename: (name: string) => string = (name) => name,
): unknown {
  const map = (each: unknown, secret: string | undefined, parent: string | undefined): unknown => {
    if (typeof each === 'string') return change(each, secret);
    if (typeof each === 'number' && secret !== undefined && SECRET_NUMBER.test(secret))
      return change(String(each), secret);
    if (Array.isArray(each)) return each.map((entry) => map(entry, secret, undefined));
    if (!isObject(each)) return each;
    const members = Object.entries<unknown>(each).map(([name, member]): [string, unknown] => {
      const own = !OF_SCHEMAS.has(parent) && isSecret(name) ? name : secret;
      return [rename(name), map(member, own, name)];
    });
    return Object.fromEntries(members);
  };
  return map(value, undefined, undefined);
}
