import { peerUrl } from '../base/peer-url.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Work } from './work.ts';

/** A subschema and its location. */
export interface Subschema {
  readonly schema: JsonObject;
  /** The path to the subschema, for messages: `properties.region`. Empty for the root schema. */
  readonly where: string;
  /**
   * The property names that lead from the root to the subschema, if the path has only `properties`. Undefined if it has
   * another keyword.
   */
  readonly properties: readonly string[] | undefined;
  /** The base URI of its `$ref` (JSON Schema 2020-12 core, section 8.2.1). */
  readonly base: string;
}

const NOT_ASCII = /[^\0-\x7f]/;

/** Keywords of 2020-12 and draft-07 whose value is a schema or a list of schemas. */
const HOLDING: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'contains',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'propertyNames',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'contentSchema',
]);
/** Keywords whose value is an object of schemas by name. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);

/** The base URI of a schema without `$id`. It cannot be fetched. */
export const ROOT = 'schema://root/';

/** The limits of a schema's depth and subschemas, because the time to check a value grows with both. */
const MAX_DEPTH = 64;
const MAX_SUBSCHEMAS = 10_000;

/**
 * All subschemas of a schema in document order, starting with the schema itself. The values of `default`, `const`,
 * `enum` and `examples` are not searched.
 *
 * @param rootBase the base URI for the `$id` and `$ref` of the root.
 * @throws TypeError if the schema is nested deeper than 64 levels or has more than 10,000 subschemas (2026-07-28, basic:
 * Composition-Keyword Resource Use).
 */
export function subschemasOf(
  root: JsonObject,
  name: string,
  work: Work = new Work(),
  rootBase = ROOT,
): readonly Subschema[] {
  const found: Subschema[] = [];
  const visit = (schema: unknown, at: Omit<Subschema, 'schema'>, depth: number): void => {
    if (!isObject(schema)) return;
    if (depth > MAX_DEPTH) throw new TypeError(`${name} is nested deeper than ${MAX_DEPTH} schemas`);
    if (found.length === MAX_SUBSCHEMAS) throw new TypeError(`${name} has more than ${MAX_SUBSCHEMAS} subschemas`);
    const base = typeof schema['$id'] === 'string' ? resolved(schema['$id'], at.base, work) : at.base;
    found.push({ ...at, schema, base });
    const entries = Object.entries<unknown>(schema);
    work.take(40 + 10 * entries.length);
    for (const [keyword, value] of entries) {
      const isNamed = NAMED.has(keyword);
      if (typeof value !== 'object' || value === null || !(isNamed || HOLDING.has(keyword))) continue;
      const where = at.where === '' ? keyword : `${at.where}.${keyword}`;
      if (!isNamed && !Array.isArray(value)) {
        visit(value, { where, properties: undefined, base }, depth + 1);
        continue;
      }
      const chain = keyword === 'properties' ? at.properties : undefined;
      const ones = Object.entries<unknown>(value as JsonObject);
      work.take(10 * ones.length);
      for (const [key, one] of ones) {
        visit(one, { where: `${where}.${key}`, properties: chain && [...chain, key], base }, depth + 1);
      }
    }
  };
  visit(root, { where: '', properties: [], base: rootBase }, 1);
  return found;
}

/**
 * Refuses external references, because nothing is ever fetched (2026-07-28, basic: `$ref` Resolution).
 *
 * @throws TypeError that names the first reference to a target outside the schema.
 */
export function refuseExternalReferences(
  subschemas: readonly Subschema[],
  name: string,
  work: Work = new Work(),
): void {
  const known = new Set([ROOT]);
  for (const { base } of subschemas) {
    work.read(base.length);
    known.add(withoutFragment(base));
  }
  for (const { schema, where, base } of subschemas) {
    for (const keyword of ['$ref', '$dynamicRef']) {
      const reference: unknown = schema[keyword];
      if (typeof reference !== 'string' || reference.startsWith('#')) continue;
      if (known.has(withoutFragment(resolved(reference, base, work)))) continue;
      throw new TypeError(
        `${name} refers to ${JSON.stringify(reference)} (${where === '' ? keyword : `${where}.${keyword}`}), which is not ` +
          'in the schema; references are not fetched, so copy the schema into "$defs"',
      );
    }
  }
}

/** Resolves a reference against its base to a URI. */
export function resolved(reference: string, base: string, work: Work): string {
  // Hosts are slow to parse: a character that is not ASCII costs 32 steps, and one of a base, which is encoded, two.
  work.take(50 + reference.length * (NOT_ASCII.test(reference) ? 32 : 1) + 2 * base.length);
  return peerUrl(reference, base)?.href ?? reference;
}

/** A URI without its fragment. */
export function withoutFragment(address: string): string {
  const hash = address.indexOf('#');
  return hash === -1 ? address : address.slice(0, hash);
}
