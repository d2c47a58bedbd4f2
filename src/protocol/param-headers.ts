/**
 * Tool arguments that HTTP callers repeat in headers (2026-07-28, basic/transports/streamable-http: Custom Headers from
 * Tool Parameters). Both sides follow these rules.
 */
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { isHeaderName } from './header-syntax.ts';
import { encodeHeaderValue } from './header-value.ts';
import type { Subschema } from '../schema/subschemas.ts';

const KEYWORD = 'x-mcp-header';
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
      return refuse('must be on a property that is reached through "properties" only');
    if (typeof name !== 'string' || !isHeaderName(name))
      return refuse("must be a header name: letters, digits and !#$%&'*+-.^_`|~, at least one");
    if (!TYPES.has(schema['type'])) return refuse('must be on a property of type string, integer or boolean');
    const key = `mcp-param-${name.toLowerCase()}`;
    const other = headers.get(key);
    if (other !== undefined) return refuse(`is already used by properties.${other.path.join('.properties.')}`);
    headers.set(key, { name: `Mcp-Param-${name}`, key, path: properties });
  }
  return headers.size === 0 ? undefined : [...headers.values()];
}

/** The value of an argument in a call; undefined if it is absent. */
export function argumentAt(args: JsonObject, { path }: ParamHeader): unknown {
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
    if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      const what = `The argument ${header.path.join('.')} goes into the header ${header.name}`;
      throw new RpcError(ErrorCode.InvalidParams, `${what}, but ${value} is not a safe integer`);
    }
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      mirrored[header.key] = encodeHeaderValue(String(value));
  }
  return mirrored;
}
