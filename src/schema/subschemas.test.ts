import { expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { refuseExternalReferences, subschemasOf } from './subschemas.ts';

const references = (schema: JsonObject) => () => refuseExternalReferences(subschemasOf(schema, 'It'), 'It');

test('finds every subschema, and no other values', () => {
  const leaf = {};
  const schema = {
    properties: { a: { properties: { b: leaf } }, items: leaf },
    patternProperties: { '^x': leaf },
    $defs: { d: { properties: { e: leaf } } },
    allOf: [leaf, true],
    items: { not: leaf },
    default: { items: leaf },
    enum: [{ items: leaf }],
    const: { properties: { a: leaf } },
    required: ['a'],
    additionalProperties: false,
  };
  const found = subschemasOf(schema, 'It').map(({ where, properties }) => [where, properties]);
  expect(Object.fromEntries(found)).toEqual({
    '': [],
    items: undefined,
    'items.not': undefined,
    'allOf.0': undefined,
    'properties.a': ['a'],
    'properties.a.properties.b': ['a', 'b'],
    'properties.items': ['items'],
    'patternProperties.^x': undefined,
    '$defs.d': undefined,
    '$defs.d.properties.e': undefined,
  });
});

test('a schema with too many levels is refused, and so is a circular one', () => {
  const nested = (depth: number): JsonObject => (depth === 1 ? {} : { items: nested(depth - 1) });
  expect(subschemasOf(nested(64), 'It')).toHaveLength(64);
  expect(() => subschemasOf(nested(65), 'It')).toThrow(new TypeError('It is nested deeper than 64 schemas'));
  const circle: JsonObject = {};
  circle['not'] = circle;
  expect(() => subschemasOf(circle, 'It')).toThrow('deeper');
});

test('a schema with too many subschemas is refused', () => {
  const wide = (count: number) => ({ anyOf: Array.from({ length: count }, () => ({})) });
  expect(subschemasOf(wide(9_999), 'It')).toHaveLength(10_000);
  expect(() => subschemasOf(wide(10_000), 'It')).toThrow(new TypeError('It has more than 10000 subschemas'));
});

test.each<JsonObject>([
  { $ref: '#/$defs/a', $defs: { a: {} } },
  { $ref: '#anchor' },
  { $dynamicRef: '#a' },
  { $id: 'https://example.com/s', properties: { a: { $ref: 'https://example.com/s#/$defs/a' }, b: { $ref: 's' } } },
  { $ref: 'other', $defs: { o: { $id: 'other' } } },
  { $id: 'urn:example:s', properties: { a: { $ref: 'urn:example:s' } } },
  { properties: { $ref: { type: 'string' } }, default: { $ref: 'https://example.com/s' } },
])('a reference within the schema is accepted: %j', (schema) => {
  expect(references(schema)).not.toThrow();
});

test.each<[string, JsonObject]>([
  ['$ref', { $ref: 'https://example.com/schema.json' }],
  ['properties.a.items.$ref', { properties: { a: { items: { $ref: 'http://127.0.0.1/x#/a' } } } }],
  ['$dynamicRef', { $dynamicRef: 'file:///etc/passwd' }],
  ['$defs.a.$ref', { $defs: { a: { $id: 'https://example.com/', $ref: 'b' } } }],
  ['not.$ref', { not: { $ref: 'sibling.json' } }],
])('an external reference is refused: %s', (where, schema) => {
  expect(references(schema)).toThrow(TypeError);
  expect(references(schema)).toThrow(`(${where}), which is not in the schema`);
});

test('references with long hosts are too much work before they take long', () => {
  const host = String.fromCodePoint(...Array.from({ length: 250 }, (_, i) => 0xac00 + ((i * 7919) % 11_172)));
  const list = Array.from({ length: 9000 });
  const absolute = { allOf: list.map((_, i) => ({ $id: `https://${host}/${i}` })) };
  expect(references(absolute)).toThrow(/too large to check/);
  const relative = { $id: `https://${host}/`, allOf: list.map((_, i) => ({ $id: `${i}` })) };
  expect(references(relative)).toThrow(/too large to check/);
});
