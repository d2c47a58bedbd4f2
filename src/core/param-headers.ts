/**
 * Tool arguments that HTTP callers repeat in headers (2026-07-28, basic/transports/streamable-http: Custom Headers from
 * Tool Parameters). Both sides follow these rules.
 */
import { quoting, shortText } from '../base/short-text.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { isHeaderName } from '../protocol/header-syntax.ts';
import { decodeHeaderValue, encodeHeaderValue } from '../protocol/header-value.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import type { Subschema } from '../schema/subschemas.ts';
import type { Exchange } from './exchange.ts';
import { Refusal } from './refusal.ts';

const KEYWORD = 'x-mcp-header';
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/** An argument that HTTP callers repeat in a header. */
export interface ParamHeader {
  /** As people read it: `Mcp-Param-Region`. */
  readonly name: string;
  /** In lower case. */
  readonly key: string;
  /** The property names that lead to the argument. */
  readonly path: readonly string[];
}

/**
 * The headers that an input schema asks for by `x-mcp-header`; undefined if it asks for none.
 *
 * @throws TypeError that names the property if one breaks the rules of 2026-07-28 (basic/transports/streamable-http:
 * Schema Extension).
 */
export function paramHeaders(subschemas: readonly Subschema[], owner: string): readonly ParamHeader[] | undefined {
  const headers = new Map<string, ParamHeader>();
  for (const { schema, where, properties } of subschemas) {
    if (!Object.hasOwn(schema, KEYWORD)) continue;
    const refuse = (why: string): never => {
      throw new TypeError(`${owner}: ${KEYWORD} of ${where === '' ? 'the input schema' : shortText(where)} ${why}`);
    };
    const name: unknown = schema[KEYWORD];
    if (properties === undefined || properties.length === 0)
      return refuse('must be on a property that is reached through "properties" only');
    if (typeof name !== 'string' || !isHeaderName(name))
      return refuse("must be a header name: one or more letters, digits or !#$%&'*+-.^_`|~");
    if (!TYPES.has(schema['type'])) return refuse('must be on a property of type string, integer or boolean');
    const key = `mcp-param-${name.toLowerCase()}`;
    const other = headers.get(key);
    if (other !== undefined)
      return refuse(`is already used by ${shortText(`properties.${other.path.join('.properties.')}`)}`);
    headers.set(key, { name: `Mcp-Param-${name}`, key, path: properties });
  }
  return headers.size === 0 ? undefined : [...headers.values()];
}

/** The value of an argument in a call; undefined if it is absent. */
function argumentAt(args: JsonObject, { path }: ParamHeader): unknown {
  let value: unknown = args;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/**
 * The headers of a call by lower-case name. Absent or null arguments, and values that no header can hold, have no
 * header.
 *
 * @throws RpcError −32602 that names an integer outside the safe range, because every server must refuse it (2026-07-28,
 * basic/transports/streamable-http: Schema Extension).
 */
export function mirroredArguments(headers: readonly ParamHeader[], args: JsonObject): Record<string, string> {
  const mirrored: Record<string, string> = {};
  for (const header of headers) {
    const value = argumentAt(args, header);
    if (isUnsafeInteger(value)) {
      const what = quoting`The argument ${header.path.join('.')} goes into the header ${header.name}`;
      throw new RpcError(ErrorCode.InvalidParams, `${what}, but ${value} is not a safe integer`);
    }
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      mirrored[header.key] = encodeHeaderValue(String(value));
  }
  return mirrored;
}

/**
 * Checks that the headers of a call match its arguments, over HTTP in revisions with these headers.
 *
 * @throws Refusal −32020 if a header is missing, malformed or different, or is sent for an absent or null argument
 * (2026-07-28, basic/transports/streamable-http: Server Behavior for Custom Headers). The message contains no values.
 */
export function checkParamHeaders(headers: readonly ParamHeader[], args: JsonObject, exchange: Exchange): void {
  if (exchange.header === undefined || REVISIONS[exchange.caller.revision].era !== 'modern') return;
  for (const header of headers) {
    const { key, path } = header;
    const name = shortText(header.name);
    const argument = quoting`the argument ${path.join('.')}`;
    const value = argumentAt(args, header);
    const sent = exchange.header(key);
    if (value === undefined || value === null) {
      if (sent !== undefined) throw Refusal.header(`${name} was sent, but ${argument} was not`);
      continue;
    }
    if (sent === undefined) throw Refusal.header(`${name} is missing; it must repeat ${argument}`);
    const text = decodeHeaderValue(sent);
    if (text === undefined) throw Refusal.header(`${name} is malformed: neither plain ASCII nor =?base64?…?= of UTF-8`);
    if (isUnsafeInteger(value)) throw Refusal.header(`${argument} is not a safe integer, so ${name} cannot carry it`);
    if (!matches(text, value)) throw Refusal.header(`${name} does not match ${argument}`);
  }
}

/** Numbers are compared as numbers: `42.0` is 42 (2026-07-28, basic/transports/streamable-http: Server Validation). */
function matches(text: string, value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return text === value;
    case 'number':
      return NUMBER.test(text) && Number(text) === value;
    case 'boolean':
      return text === String(value);
    default:
      return false;
  }
}

/** A header must not carry such an integer (2026-07-28, basic/transports/streamable-http: Schema Extension). */
function isUnsafeInteger(value: unknown): value is number {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}
