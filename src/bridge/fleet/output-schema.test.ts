import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { define } from '../../base/define.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { compilable } from './output-schema.ts';
import { Mistakes } from './shapes.ts';

/** What is left of a schema, and the mistake. */
function checked(schema: JsonObject): { kept: unknown; mistake: string | undefined } {
  const mistakes = new Mistakes();
  const kept = compilable((value) => value)(schema, mistakes);
  return { kept, mistake: mistakes.last };
}

/** Compiles a schema as the official client 1.x does. */
function compile(schema: unknown): void {
  const { warn } = console;
  console.warn = () => {};
  try {
    new AjvJsonSchemaValidator().getValidator(schema as JsonObject);
  } finally {
    console.warn = warn;
  }
}

const object = { type: 'object' };
const nodes = (schema: JsonObject): JsonObject => ({ ...object, properties: { a: schema } });

/** Has most keywords. */
const FULL: JsonObject = {
  ...{ ...object, $schema: 'http://json-schema.org/draft-07/schema#', title: 'T', 'x-own': { b: { type: 'string' } } },
  properties: {
    a: {
      type: 'string',
      minLength: 1,
      pattern: '^(?<x>a)\\k<x>$',
      format: 'own',
      default: { $id: 'x' },
      examples: [{}],
    },
    b: { type: ['number', 'null'], minimum: -1, exclusiveMaximum: 1e300, multipleOf: 0.5, nullable: true },
    c: { type: 'array', items: { $ref: '#/$defs/node' }, minItems: 1, uniqueItems: true, contains: { type: 'string' } },
    d: { type: 'array', items: [{ type: 'string' }, true], additionalItems: false, prefixItems: [{}] },
    e: {
      anyOf: [{ $ref: '#/$defs/a~1b%20c', description: 'x' }, { oneOf: [{ const: { id: 1 } }, { enum: ['a', null] }] }],
    },
    f: { allOf: [{ required: ['q'], properties: { q: {}, id: { type: 'string' }, $id: {}, __proto__: {} } }] },
    g: { if: { type: 'string' }, then: { minLength: 2 }, else: true, not: { $ref: '#/properties/a' } },
    h: { $ref: '#/x-own/b' },
  },
  ...{ required: ['a'], additionalProperties: { $ref: '#' }, patternProperties: { '^x': { type: 'number' } } },
  ...{ propertyNames: { maxLength: 9 }, dependencies: { a: ['b'], b: { required: ['c'] } }, dependentSchemas: {} },
  $defs: {
    node: { ...object, properties: { next: { $ref: '#/$defs/node' }, leaf: { $ref: '#/$defs/a~1b%20c' } } },
    'a/b c': { type: 'string' },
    unused: { id: 'unused', type: 'none' },
  },
};

test.each([
  FULL,
  { ...object, $schema: 'https://json-schema.org/draft/2020-12/schema', unevaluatedProperties: { type: 'none' } },
  { ...object, $schema: 'https://json-schema.org/draft/2019-09/schema', $recursiveRef: '#' },
  { ...object, properties: Object.fromEntries(Array.from({ length: 5000 }, (_, id) => [id, { type: 'string' }])) },
])('a schema that the official client can compile stays as it is', (schema) => {
  expect(() => compile(schema)).not.toThrow();
  const { kept, mistake } = checked(schema);
  expect(kept).toBe(schema);
  expect(mistake).toBeUndefined();
});

test('an `$id` is left out', () => {
  expect(checked({ $id: 'x', ...object })).toEqual({ kept: object, mistake: undefined });
  expect(checked({ $id: 5, ...object })).toEqual({ kept: object, mistake: undefined });
  expect(checked({ $id: 'x', ...nodes({ $ref: 'x#' }) }).kept).toBeUndefined();
});

const chain = (length: number, link: (next: JsonObject) => JsonObject): JsonObject => ({
  ...nodes({ $ref: '#/$defs/0' }),
  $defs: Object.fromEntries(
    Array.from({ length }, (_, id) => [id, id + 1 < length ? link({ $ref: `#/$defs/${id + 1}` }) : true]),
  ),
});
const nested = (depth: number): JsonObject => (depth === 0 ? {} : nodes(nested(depth - 1)));

const MISTAKES: readonly (readonly [schema: JsonObject, mistake: string])[] = [
  [nodes({ type: 'strin' }), 'properties.a.type must be a type, or a list of types'],
  [nodes({ type: ['string', null] }), 'properties.a.type must be a type, or a list of types'],
  [nodes({ nullable: true }), 'properties.a.nullable must be beside a type'],
  [nodes({ nullable: true, $ref: '#' }), 'properties.a.nullable must be beside a type'],
  [nodes({ nullable: false, type: ['null'] }), 'properties.a.nullable must be true beside the type "null"'],
  [nodes({ nullable: 'yes', type: 'string' }), 'properties.a.nullable must be true or false'],
  [nodes({ required: true }), 'properties.a.required must be a list of strings'],
  [nodes({ exclusiveMinimum: true }), 'properties.a.exclusiveMinimum must be a number'],
  [nodes({ minimum: Infinity }), 'properties.a.minimum must be a number'],
  [nodes({ enum: [] }), 'properties.a.enum must be a list with values'],
  [nodes({ pattern: '[' }), 'properties.a.pattern is not a regular expression: '],
  [nodes({ pattern: '\\-' }), 'properties.a.pattern is not a regular expression: '],
  [{ ...object, patternProperties: { '(': {} } }, 'patternProperties is not a regular expression: '],
  [nodes({ format: 5 }), 'properties.a.format must be a string'],
  [nodes({ format: 'email', formatMinimum: 'a' }), 'properties.a.formatMinimum must be absent, because some clients'],
  [nodes({ type: 'string', $async: true }), 'properties.a.$async must be absent'],
  [nodes({ id: 'a' }), 'properties.a.id must be absent'],
  [{ ...nodes({ $ref: '#/$defs/a' }), $defs: { a: { id: 'a' } } }, '#/$defs/a.id must be absent'],
  [nodes({ properties: { a: null } }), 'properties.a.properties.a must be a schema'],
  [nodes({ properties: [] }), 'properties.a.properties must be an object'],
  [nodes({ items: 5 }), 'properties.a.items must be a schema'],
  [nodes({ allOf: [null] }), 'properties.a.allOf.0 must be a schema'],
  [nodes({ allOf: {} }), 'properties.a.allOf must be a list of schemas'],
  [nodes({ dependencies: { a: [5] } }), 'properties.a.dependencies.a must be a schema'],
  [nodes({ $ref: null }), 'properties.a.$ref must be a string'],
  ...['#/$defs/none', '#none', 'https://a.test/b', '#/', '#/%', '#/type', '#/constructor', '#/properties/a/a%2Fb'].map(
    ($ref): [JsonObject, string] => [nodes({ $ref }), 'properties.a.$ref must be a reference to a schema in this one'],
  ),
  [nodes({ $ref: '#/properties/a' }), 'properties.a.$ref leads back to itself'],
  [{ ...nodes({ $ref: '#/$defs/a' }), $defs: { $id: {}, a: {} } }, 'must be a reference to a schema in this one'],
  [nodes({ $id: 'x' }), 'has a subschema with $id, which could clash with one of another server'],
  [{ ...object, 'x-own': { a: { $anchor: '1' } } }, 'has a subschema with $anchor, which could clash'],
  [chain(400, (next) => nodes(next)), 'is nested deeper than 200 schemas, with those behind references'],
  [chain(400, (next) => ({ ...next, ...object })), 'leads back to itself'],
  [nested(400), 'is nested deeper than 200 schemas'],
  [
    {
      ...{ ...object, $defs: { a: FULL['properties'].a, b: { allOf: Array.from({ length: 100 }, () => ({})) } } },
      properties: Object.fromEntries(Array.from({ length: 100 }, (_, id) => [id, { $ref: '#/$defs/b' }])),
    },
    'has more than 10000 schemas, with those behind references',
  ],
  [nodes({ required: Array.from({ length: 200_000 }, String) }), 'is too large to check'],
];

test.each(MISTAKES.map(([schema, mistake]) => [mistake, schema] as const))('a schema %s', (mistake, schema) => {
  const found = checked(schema);
  expect(found.kept).toBeUndefined();
  expect(found.mistake).toContain(mistake);
});

test('what is kept of any schema, the official client can compile', () => {
  const keyword = fc.constantFrom(
    ...['type', 'nullable', 'id', '$id', '$anchor', '$ref', '$async', '$defs', 'definitions', 'x-own', '__proto__'],
    ...['enum', 'const', 'default', 'minimum', 'multipleOf', 'maxLength', 'pattern', 'format', 'formatMinimum'],
    ...['required', 'uniqueItems', 'items', 'additionalItems', 'contains', 'additionalProperties', 'properties'],
    ...['patternProperties', 'propertyNames', 'dependencies', 'allOf', 'oneOf', 'not', 'if', 'then', 'else'],
  );
  const odd = fc.constantFrom<unknown>(
    ...[null, true, 5, '', '[', 'date', 'string', 'a', [], ['a'], [5], {}, [{}], [null], { type: 'x' }, { $ref: '#' }],
    ...['#', '#/', '#/$defs/node', '#/properties/a', '#/required', '#/x-own', '#/x-own/b/', 'x:y', '#/examples', '#/%'],
    ...[
      { $ref: '#/$defs/none' },
      { nullable: true },
      { $id: 'a' },
      { id: 'a' },
      { $anchor: 'a' },
      '#/properties/e/anyOf',
    ],
  );
  /** The value with something else at one place: replaced, or added to an object. */
  const changed = (value: unknown, path: readonly number[], key: string | null, other: unknown): unknown => {
    const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
    const [step, ...steps] = path;
    const copy: JsonObject = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as JsonObject) };
    if (step === undefined || names.length === 0) {
      if (key === null || names.length === 0) return other;
      define(copy, key, other);
    } else {
      const name = names[step % names.length]!;
      define(copy, name, changed(copy[name], steps, key, other));
    }
    return copy;
  };
  const change = fc.tuple(fc.array(fc.nat(40), { maxLength: 5 }), fc.option(keyword), odd);
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      let schema: unknown = FULL;
      for (const [path, key, other] of changes) schema = changed(schema, path, key, other);
      const { kept } = checked({ ...(schema as JsonObject), type: 'object' });
      if (kept !== undefined) compile(kept);
    }),
    { numRuns: 500 },
  );
});
