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

const ref = ($ref: string): JsonObject => ({ $ref });
const text = { type: 'string' };
const nullable = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }], default: null });
const many = (count: number, item: (id: number) => JsonObject): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, id) => [`m${id}`, item(id)]));
/** A model of pydantic with other models, each of which has a list of the same model. */
const wide = (count: number): JsonObject => ({
  ...{ ...object, title: 'Root', required: ['m0'], properties: many(count, (id) => nullable(ref(`#/$defs/m${id}`))) },
  $defs: {
    ...many(count, (id) => ({
      ...{ ...object, title: `M${id}`, required: ['id'] },
      properties: { id: text, items: nullable({ type: 'array', items: ref('#/$defs/Leaf') }) },
    })),
    Leaf: { ...object, title: 'Leaf', properties: { x: { title: 'X', type: 'integer' } }, required: ['x'] },
  },
});

/** Schemas that libraries generate. */
const GENERATED: Readonly<Record<string, JsonObject>> = {
  'zod 4': {
    ...{ ...object, $schema: 'https://json-schema.org/draft/2020-12/schema', additionalProperties: false },
    properties: {
      email: {
        ...text,
        format: 'email',
        pattern: "^(?!\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@(?:[A-Za-z0-9]+\\.)+[A-Za-z]{2,}$",
      },
      tuple: { type: 'array', prefixItems: [text, { type: 'number' }], items: { type: 'number' } },
      record: { ...object, propertyNames: text, additionalProperties: { anyOf: [text, { type: 'null' }] } },
      kind: { oneOf: [nodes({ type: 'string', const: 'a' }), nodes({ type: 'string', const: 'b' })] },
      never: { not: {} },
      node: ref('#/$defs/__schema0'),
    },
    $defs: { __schema0: nodes({ type: 'array', items: ref('#/$defs/__schema0') }), A: { id: 'A', ...object } },
  },
  'zod-to-json-schema': {
    ...{ ...object, $schema: 'http://json-schema.org/draft-07/schema#', $ref: '#/definitions/My Type' },
    definitions: {
      'My Type': {
        ...object,
        properties: {
          home: { ...object, properties: { street: text }, additionalProperties: false },
          work: ref('#/definitions/My Type/properties/home'),
          size: { type: ['integer', 'null'], format: 'int64', exclusiveMinimum: 0 },
          tuple: { type: 'array', minItems: 1, maxItems: 2, items: [text, { type: 'number' }] },
        },
      },
    },
  },
  'pydantic with a discriminator': {
    ...object,
    properties: {
      pet: {
        discriminator: { mapping: { cat: '#/$defs/Cat', dog: '#/$defs/Dog' }, propertyName: 'kind' },
        oneOf: [ref('#/$defs/Cat'), ref('#/$defs/Dog')],
        title: 'Pet',
      },
      price: { anyOf: [{ type: 'number' }, { ...text, pattern: '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$' }] },
      old: { ...nullable({ type: 'integer' }), deprecated: true, examples: [1] },
    },
    $defs: {
      Cat: { ...object, properties: { kind: { const: 'cat', ...text }, parent: nullable(ref('#/$defs/Cat')) } },
      Dog: { ...object, properties: { kind: { const: 'dog', ...text } } },
    },
  },
  'pydantic with 100 models': wide(100),
  'pydantic with a union of 300 models': {
    ...nodes({ items: { anyOf: Object.keys(many(300, () => ({}))).map((id) => ref(`#/$defs/${id}`)) } }),
    $defs: { ...many(300, () => nodes(ref('#/$defs/Leaf'))), Leaf: text },
  },
  'pydantic with 30 models that refer to each other': {
    ...nodes(ref('#/$defs/m0')),
    $defs: many(30, (id) => ({
      ...object,
      properties: many(30, (other) => (other === id ? text : nullable({ items: ref(`#/$defs/m${other}`) }))),
    })),
  },
  TypeBox: {
    ...object,
    properties: {
      kind: { anyOf: [{ const: 'a', ...text }, { type: 'null' }] },
      tuple: { type: 'array', items: [text, { type: 'number' }], additionalItems: false, minItems: 2, maxItems: 2 },
      record: { ...object, patternProperties: { '^(.*)$': { type: 'number' } } },
    },
  },
  schemars: {
    ...{ ...object, $schema: 'http://json-schema.org/draft-07/schema#', title: 'Answer', required: ['count'] },
    properties: {
      count: { type: 'integer', format: 'uint32', minimum: 0 },
      next: { anyOf: [ref('#/definitions/Node'), { type: 'null' }] },
      level: { description: 'The level', allOf: [ref('#/definitions/Level')], default: 'low' },
    },
    definitions: {
      Node: { ...object, properties: { next: { anyOf: [ref('#/definitions/Node'), { type: 'null' }] } } },
      Level: {
        oneOf: [
          { ...text, enum: ['low'] },
          { ...text, const: 'high' },
        ],
      },
    },
  },
  'a Go generator': {
    ...{ ...object, $schema: 'https://json-schema.org/draft/2020-12/schema', additionalProperties: false },
    properties: {
      names: { type: ['null', 'array'], items: text },
      any: true,
      tree: ref('#/$defs/Tree[string]'),
      bytes: { ...text, contentEncoding: 'base64' },
    },
    $defs: { 'Tree[string]': nodes(ref('#/$defs/Tree[string]')) },
  },
  'a document store': {
    ...nodes({ ...object, example: [{ $id: '5e5e' }], examples: [{ $id: '5e5e' }] }),
    properties: { $id: text, owner: { ...object, properties: { $id: text } }, editor: ref('#/properties/owner') },
    definitions: { $id: text, id: text, b: ref('#/definitions/id') },
    patternProperties: { '^x': ref('#/properties/owner/properties/$id') },
  },
};

test.each<readonly [string, JsonObject]>([
  ...Object.entries(GENERATED),
  ['most keywords', FULL],
  [
    'keywords of 2020-12',
    { ...object, $schema: 'https://json-schema.org/draft/2020-12/schema', unevaluatedProperties: { type: 'none' } },
  ],
  ['keywords of 2019-09', { ...object, $schema: 'https://json-schema.org/draft/2019-09/schema', $recursiveRef: '#' }],
  ['5000 properties', { ...object, properties: many(5000, () => text) }],
])('a schema that the official client can compile stays as it is: %s', (_, schema) => {
  expect(() => compile(schema)).not.toThrow();
  const { kept, mistake } = checked(schema);
  expect(mistake).toBeUndefined();
  expect(kept).toBe(schema);
});

test('an `$id` is left out', () => {
  expect(checked({ $id: 'x', ...object })).toEqual({ kept: object, mistake: undefined });
  expect(checked({ $id: 5, ...object })).toEqual({ kept: object, mistake: undefined });
  const { $id: _, ...kept } = { $id: 'x', ...FULL };
  expect(checked({ $id: 'x', ...FULL })).toEqual({ kept, mistake: undefined });
  expect((checked({ $id: 'x', ...FULL }).kept as JsonObject)['properties']).toBe(FULL['properties']);
});

test.each([
  ['https://a.test/x/y', 'https://a.test/x/y#/$defs/a', '#/$defs/a'],
  ['https://a.test/x/y', 'y#/$defs/a', '#/$defs/a'],
  ['https://a.test/x/y', '/x/y#/$defs/a', '#/$defs/a'],
  ['https://a.test/x/y#', 'https://a.test/x/y', '#'],
  ['urn:example:y', 'urn:example:y#/$defs/a', '#/$defs/a'],
  ['T1', 'T1', '#'],
  ['T1', 'T1#', '#'],
])('with the $id %j, the reference %j becomes %j', ($id, $ref, local) => {
  const schema = (to: string): JsonObject => ({
    ...{ ...nodes({ items: ref(to), const: ref($ref), prefixItems: [ref(to)] }), 'x-own': 5 },
    $defs: { a: { ...object, default: ref($ref), properties: { $ref: { enum: [$ref] } } } },
  });
  expect(() => compile({ $id, ...schema($ref) })).not.toThrow();
  expect(checked({ $id, ...schema($ref) })).toEqual({ kept: schema(local), mistake: undefined });
});

test.each([
  ['https://a.test/x/y', 'z#/$defs/a'],
  ['T1', 'T2'],
  ['T1', 'T1#a'],
  ['http://[', 'http://['],
  ['urn:example:y', 'y'],
  [5, '5'],
])('with the $id %j, the reference %j leads nowhere', ($id, $ref) => {
  const { kept, mistake } = checked({ $id, ...nodes({ $ref }), $defs: { a: {} } });
  expect(kept).toBeUndefined();
  expect(mistake).toBe('properties.a.$ref must be a reference to a schema in this one');
});

const chain = (length: number, link: (next: JsonObject) => JsonObject): JsonObject => ({
  ...nodes({ $ref: '#/$defs/0' }),
  $defs: Object.fromEntries(
    Array.from({ length }, (_, id) => [id, id + 1 < length ? link({ $ref: `#/$defs/${id + 1}` }) : true]),
  ),
});
const nested = (depth: number): JsonObject => (depth === 0 ? {} : nodes(nested(depth - 1)));

/** References to a chain, from its end. */
const references = (count: number): JsonObject[] =>
  Array.from({ length: count }, (_, id) => ref(`#/$defs/${count - 1 - id}`));

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
  [nodes({ $id: 'x' }), 'properties.a.$id must be absent, because it could clash with a name in a schema of another'],
  [{ ...object, 'x-own': { a: { $anchor: '1' } } }, 'x-own.a.$anchor must be absent, because it could clash'],
  [{ ...object, examples: { a: { $id: 'x' }, b: { $id: 'x' } } }, 'examples.a.$id must be absent'],
  [{ ...nodes(ref('#/$defs/a')), $defs: { a: { $id: 'x' } } }, '#/$defs/a.$id must be absent'],
  [{ ...object, $defs: { a: { items: [{ $id: 'x' }] } } }, '$defs.a.items.0.$id must be absent'],
  [chain(400, (next) => nodes(next)), 'is nested deeper than 200 schemas, with those behind references'],
  [chain(400, (next) => ({ ...next, ...object })), 'is nested deeper than 200 schemas'],
  [chain(400, (next) => next), 'is nested deeper than 200 schemas'],
  [
    { ...nodes(ref('#/$defs/0')), $defs: [ref('#/$defs/1'), ref('#/$defs/2'), ref('#/$defs/0')] },
    'leads back to itself',
  ],
  [
    // Ajv does not read the first list, because it matches everything. So it meets the longest chain first.
    { ...chain(600, (next) => ({ ...next, ...object })), anyOf: [{}, ...references(600)] },
    'is nested deeper than 200 schemas',
  ],
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

test('the checks of one page have a limit together', () => {
  const page = compilable((value) => value);
  const left = (schema: JsonObject): string | undefined => {
    const mistakes = new Mistakes();
    page(schema, mistakes);
    return mistakes.last;
  };
  const costly = nodes({ pattern: '\\p{L}'.repeat(90) });
  const found = Array.from({ length: 20 }, () => left(costly));
  const limited = 'is not checked, because the schemas before it are too large';
  expect(new Set(found)).toEqual(new Set([undefined, limited]));
  expect(found.indexOf(limited)).toBe(12);
  expect(left(object)).toBe(limited);
  expect(checked(costly).mistake).toBeUndefined();
});

test('a long chain is followed once, not for each of many references', () => {
  const schema = {
    ...chain(190, (next) => next),
    allOf: Array.from({ length: 5000 }, () => ref('#/$defs/0')),
  };
  expect(checked(schema)).toEqual({ kept: schema, mistake: undefined });
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
