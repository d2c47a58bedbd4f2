import type { Exchange } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { decodeHeaderValue } from '../protocol/header-value.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import type { Subschema } from '../protocol/subschemas.ts';

const KEYWORD = 'x-mcp-header';
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** RFC 9110, section 5.6.2: 1*tchar. */
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** An argument that callers over HTTP say again in a header. */
export interface ParamHeader {
  /** As people read it: `Mcp-Param-Region`. */
  readonly name: string;
  /** In lower case. */
  readonly key: string;
  /** The property names that lead to the argument. */
  readonly path: readonly string[];
}

/**
 * The headers that an input schema asks for by `x-mcp-header`; undefined where it asks for none.
 *
 * @throws TypeError that names the property where one is not as 2026-07-28 demands it
 * (basic/transports/streamable-http: Schema Extension).
 */
export function paramHeaders(subschemas: readonly Subschema[], owner: string): readonly ParamHeader[] | undefined {
  const headers = new Map<string, ParamHeader>();
  for (const { schema, where, properties } of subschemas) {
    if (!Object.hasOwn(schema, KEYWORD)) continue;
    const refuse = (why: string): never => {
      throw new TypeError(`${owner}: ${KEYWORD} of ${where === '' ? 'the input schema' : where} ${why}`);
    };
    const name: unknown = schema[KEYWORD];
    if (properties === undefined || properties.length === 0)
      return refuse('must stand on a property that "properties" alone leads to');
    if (typeof name !== 'string' || !TOKEN.test(name))
      return refuse("must be a header name: letters, digits and !#$%&'*+-.^_`|~, at least one");
    if (!TYPES.has(schema['type'])) return refuse('must stand on a property of type string, integer or boolean');
    const key = `mcp-param-${name.toLowerCase()}`;
    const other = headers.get(key);
    if (other !== undefined) return refuse(`is also that of properties.${other.path.join('.properties.')}`);
    headers.set(key, { name: `Mcp-Param-${name}`, key, path: properties });
  }
  return headers.size === 0 ? undefined : [...headers.values()];
}

/**
 * Checks that the headers of a call say what its arguments say, where it came over HTTP in a revision that has them.
 *
 * @throws RpcError −32020 where one is missing, malformed, says something else, or stands for an argument that is absent
 * or null (2026-07-28, basic/transports/streamable-http: Server Behavior for Custom Headers). No value is repeated.
 */
export function checkParamHeaders(headers: readonly ParamHeader[], args: JsonObject, exchange: Exchange): void {
  if (exchange.header === undefined || REVISIONS[exchange.caller.revision].era !== 'modern') return;
  for (const { name, key, path } of headers) {
    const argument = `the argument ${path.join('.')}`;
    const value = valueAt(args, path);
    const sent = exchange.header(key);
    if (value === undefined || value === null) {
      if (sent !== undefined) throw mismatch(`${name} was sent, but ${argument} was not`);
      continue;
    }
    if (sent === undefined) throw mismatch(`${name} is missing; it must say what ${argument} says`);
    const said = decodeHeaderValue(sent);
    if (said === undefined) throw mismatch(`${name} is malformed: neither plain ASCII nor =?base64?…?= of UTF-8`);
    if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
      throw mismatch(`${argument} is beyond the integers that ${name} can carry`);
    if (!says(said, value)) throw mismatch(`${name} does not match ${argument}`);
  }
}

/** Numbers are compared as numbers: `42.0` is 42 (2026-07-28, basic/transports/streamable-http: Server Validation). */
function says(said: string, value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return said === value;
    case 'number':
      return NUMBER.test(said) && Number(said) === value;
    case 'boolean':
      return said === String(value);
    default:
      return false;
  }
}

function valueAt(args: JsonObject, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function mismatch(what: string): RpcError {
  return new RpcError(McpErrorCode.HeaderMismatch, `Header mismatch: ${what}`);
}
