import { scrubber } from '../auth/scrub.ts';
import { isSecretName, SecretParameters } from '../inspect/secrets.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { RecordedWire } from './recorded-wire.ts';

/** What stands for a secret. */
export const MASK = '**********';
/** Members of the protocol whose names look like those of secrets. */
const HARMLESS: ReadonlySet<string> = new Set(['progressToken', 'authorizationUrl']);
/** A name and its value in a text, such as `PASSWORD=x` or `"token": "x"`. */
const NAMED = /([\w.-]{1,64})(["']?\s*[:=]\s*["']?)([^\s"',;&}\]]+)/g;

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
        if (isSecretName(name)) for (const word of value.split(/[\s;,=]+/)) found.add(word);
      for (const value of parametersOf(request.first[1])) found.add(value);
      for (const text of [body, responseBody])
        if (!isOfMessages(text)) for (const value of namedIn(text)) found.add(value);
    }
    for (const { kind, text } of parts)
      if (kind !== 'head') for (const value of kind === 'message' ? membersOf(text) : namedIn(text)) found.add(value);
    this.#scrub = scrubber([...found].filter((each) => !/^[\d.]*$/.test(each) && !/^\*+$/.test(each)));
  }

  /** A text without secrets. */
  text(text: string): string {
    const named = text.replaceAll(NAMED, (all, name: string, between: string) =>
      isSecret(name) ? `${name}${between}${MASK}` : all,
    );
    return this.#scrub(named);
  }

  /** Any JSON without secrets. @param maskOf what stands for the secret member of a name. */
  value(value: unknown, maskOf: MaskOf = () => MASK): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((each) => this.value(each, maskOf));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries<unknown>(value).map(([name, member]) => [
        this.#scrub(name),
        isSecret(name) && typeof member === 'string' ? maskOf(name) : this.value(member, maskOf),
      ]),
    );
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
      masked += this.#scrub(target.slice(done, start)) + maskOf(name);
      done = end;
    }
    return masked + this.#scrub(target.slice(done));
  }

  /** The value of a header. */
  header(name: string, value: string): string {
    return isSecretName(name) ? MASK : this.target(value);
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

function isSecret(name: string): boolean {
  return isSecretName(name) && !HARMLESS.has(name);
}

function parametersOf(target: string): string[] {
  return new SecretParameters().next(target).map(([start, end]) => target.slice(start, end));
}

function namedIn(text: string): string[] {
  return Array.from(text.matchAll(NAMED), ([, name, , value]) => (isSecret(name!) ? value! : '')).filter(Boolean);
}

/** Whether a body has messages. They are looked at on their own. */
function isOfMessages(body: string): boolean {
  return /^\s*[[{]/.test(body) || /^data:/m.test(body);
}

/** The secret members of a JSON text, and what is named as secret in its strings. */
function membersOf(text: string): string[] {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (typeof value === 'string') found.push(...namedIn(value));
    else if (Array.isArray(value)) value.forEach(look);
    else if (isObject(value))
      for (const [name, member] of Object.entries<unknown>(value))
        if (typeof member === 'string' && isSecret(name)) found.push(member);
        else look(member);
  };
  try {
    look(JSON.parse(text));
  } catch {
    // It is no JSON, so it has no members.
  }
  return found;
}
