import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { formOf } from './form.ts';

const form = (properties: JsonObject, more: JsonObject = {}) => formOf({ type: 'object', properties, ...more });
const field = (schema: JsonObject): unknown => form({ a: schema }).json['properties'].a;

describe('supported schemas are sent as written', () => {
  test.each<JsonObject>([
    { type: 'string', title: 'A', description: 'An a', minLength: 3, maxLength: 50, format: 'email', default: 'a@b.c' },
    { type: 'string', format: 'uri' },
    { type: 'string', format: 'date' },
    { type: 'string', format: 'date-time' },
    { type: 'number', title: 'A', description: 'An a', minimum: 0, maximum: 0.5, default: 0.25 },
    { type: 'integer', minimum: -1, default: 0 },
    { type: 'boolean', title: 'A', description: 'An a', default: false },
    { type: 'string', title: 'A', enum: ['x', 'y'], default: 'x' },
    { type: 'string', enum: ['x', 'y'], enumNames: ['X', 'Y'] },
    { type: 'string', oneOf: [{ const: 'x', title: 'X' }], default: 'x' },
    {
      type: 'array',
      title: 'A',
      minItems: 1,
      maxItems: 2,
      items: { type: 'string', enum: ['x', 'y'] },
      default: ['x'],
    },
    { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] }, default: [] },
  ])('%j', (schema) => {
    expect(field(schema)).toStrictEqual(schema);
  });

  test('with required fields', () => {
    const json = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'boolean' } }, required: ['b'] };
    expect(formOf(json).json).toStrictEqual(json);
  });
});

describe('the same choice written in another way', () => {
  test.each<[JsonObject, JsonObject]>([
    [{ enum: ['x'] }, { type: 'string', enum: ['x'] }],
    [{ const: 'x' }, { type: 'string', enum: ['x'] }],
    [{ anyOf: [{ const: 'x' }, { const: 'y' }] }, { type: 'string', enum: ['x', 'y'] }],
    [{ oneOf: [{ const: 'x', title: 'X' }, { const: 'y' }] }, { type: 'string', enum: ['x', 'y'] }],
    [{ anyOf: [{ type: 'string', const: 'x', title: 'X' }] }, { type: 'string', oneOf: [{ const: 'x', title: 'X' }] }],
    [
      { type: 'array', items: { enum: ['x'] } },
      { type: 'array', items: { type: 'string', enum: ['x'] } },
    ],
    [
      { type: 'array', uniqueItems: true, items: { oneOf: [{ const: 'x', title: 'X' }] } },
      { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] } },
    ],
  ])('%j', (given, asked) => {
    expect(field(given)).toStrictEqual(asked);
  });
});

test('keywords that a form does not support are not sent, but validated', async () => {
  const schema = form(
    {
      a: { type: 'string', pattern: '^a', format: 'uuid', 'x-hint': 1 },
      b: { type: 'integer', exclusiveMinimum: 0, minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    },
    { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'T', additionalProperties: false, required: [] },
  );
  expect(schema.json).toStrictEqual({ type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } } });
  expect(await schema.validate({ a: 'abc', b: 1 })).toEqual({ value: { a: 'abc', b: 1 } });
  expect(await schema.validate({ a: 'b' })).toHaveProperty('issues');
  expect(await schema.validate({ b: 0 })).toHaveProperty('issues');
  expect(await schema.validate({ c: 0 })).toHaveProperty('issues');
});

describe('an invalid form is refused', () => {
  test.each<[string, JsonObject, string]>([
    ['an object', { type: 'object', properties: {} }, 'is an object, but a form is flat'],
    ['null', { type: 'null' }, 'must be a string, number'],
    ['two types', { type: ['string', 'null'] }, 'must be a string, number'],
    ['no type', { description: 'any' }, 'must be a string, number'],
    [
      'a list of strings without choices',
      { type: 'array', items: { type: 'string' } },
      'is a list, so its items must be a choice',
    ],
    ['a list of values of any type', { type: 'array' }, 'is a list, so its items must be a choice'],
    ['a choice of numbers', { enum: [1, 2] }, 'the options of a choice must be strings'],
    ['no choices', { type: 'string', enum: [] }, 'the options of a choice must be strings'],
    ['a constant number', { const: 1 }, 'the options of a choice must be strings'],
    [
      'a union of types',
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
      'the options of a choice must be strings',
    ],
    ['a condition', { type: 'string', if: {} }, 'has if, which forms do not support'],
    ['a reference', { type: 'string', $ref: '#' }, 'has $ref, which forms do not support'],
    ['a default of another type', { type: 'integer', default: 0.5 }, 'its default has the wrong type'],
    [
      'a default that is another kind of list',
      { type: 'array', items: { enum: ['x'] }, default: 'x' },
      'its default has the wrong type',
    ],
  ])('because of %s', (_, schema, message) => {
    expect(() => field(schema)).toThrow(TypeError);
    expect(() => field(schema)).toThrow(`Form property a`);
    expect(() => field(schema)).toThrow(message);
  });

  test.each<[string, JsonObject, string]>([
    ['a type other than object', { type: 'string' }, 'must have type "object" and "properties"'],
    ['no properties', { type: 'object' }, 'must have type "object" and "properties"'],
    ['a property without a schema', { type: 'object', properties: { a: true } }, 'Form property a has no schema'],
    ['combined', { type: 'object', properties: {}, allOf: [] }, 'has allOf, which forms do not support'],
    [
      'an unknown required property',
      { type: 'object', properties: {}, required: ['b'] },
      'Form property b is required, but it is not in properties',
    ],
    [
      'an unknown type',
      { type: 'object', properties: { a: { type: 'toString' } } },
      'type must be one of null, boolean',
    ],
    [
      'an external reference',
      { type: 'object', properties: { a: { $ref: 'https://example.com/' } } },
      'not in the schema',
    ],
  ])('because of %s in the schema as a whole', (_, schema, message) => {
    expect(() => formOf(schema)).toThrow(TypeError);
    expect(() => formOf(schema)).toThrow(message);
  });
});

test('a schema is converted to a form only once', () => {
  const schema = { type: 'object', properties: {} };
  expect(formOf(schema)).toBe(formOf(schema));
});
