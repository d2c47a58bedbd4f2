import { expect, test } from 'vitest';
import { collidingNumbers } from '../../test/support/colliding-numbers.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { JsonSchema } from './json-schema.ts';

const check = (json: JsonObject, value: unknown) => new JsonSchema(json, 'The schema').validate(value);
const takes = (json: JsonObject, value: unknown): boolean => check(json, value).issues === undefined;

test.each<[JsonObject, unknown, object]>([
  [{ required: ['a'] }, {}, { path: ['a'], message: 'is missing' }],
  [{ required: ['constructor'] }, {}, { path: ['constructor'], message: 'is missing' }],
  [{ properties: { a: {} }, additionalProperties: false }, { b: 1 }, { path: ['b'], message: 'is not expected' }],
  [{ properties: { a: {} }, unevaluatedProperties: false }, { b: 1 }, { path: ['b'], message: 'is not expected' }],
  [{ properties: { 'a/b': { enum: [1, 2] } } }, { 'a/b': 3 }, { path: ['a/b'], message: 'must be one of [1,2]' }],
  [{ items: { const: 1 } }, [1, 2], { path: ['1'], message: 'must be 1' }],
  [{ prefixItems: [{ type: 'string' }], items: false }, ['x', 1], { message: 'must NOT have more than 1 items' }],
  [{ $defs: { n: { minimum: 2 } }, $ref: '#/$defs/n' }, 1, { message: 'must be >= 2' }],
  [{ properties: { child: { $ref: '#' } }, required: ['n'] }, { n: 1, child: {} }, { path: ['child', 'n'] }],
])('%j refuses %j', (json, value, issue) => {
  expect(check(json, value)).toMatchObject({ issues: [issue] });
});

test('draft-07 is supported if $schema names it', () => {
  const items = [{ type: 'string' }];
  const $schema = 'http://json-schema.org/draft-07/schema#';
  expect(check({ $schema, items, additionalItems: false }, ['x', 1])).toHaveProperty('issues');
  expect(check({ $schema, items }, ['x', 1])).toEqual({ value: ['x', 1] });
});

test('2020-12 may be named in $schema', () => {
  expect(check({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'null' }, null)).toEqual({
    value: null,
  });
});

test.each(['http://json-schema.org/draft-04/schema#', 'nonsense', 7])('the dialect %j is refused', ($schema) => {
  expect(() => new JsonSchema({ $schema }, 'The schema')).toThrow(
    /^The schema has an unsupported dialect, .* \(supported: 2020-12, draft-07\)$/,
  );
});

test.each<[JsonObject, string]>([
  [{ type: 'bogus' }, 'is not valid: type must be one of null, boolean'],
  [{ required: 'a' }, 'is not valid: required must be a list of strings'],
  [{ multipleOf: 0 }, 'is not valid: multipleOf must be a number greater than 0'],
  [{ items: [{}] }, 'is not valid: items must be a schema'],
  [{ properties: { a: 7 } }, 'is not valid: properties must be a schema'],
  [{ pattern: '(' }, 'is not valid: pattern is not a regular expression'],
  [{ pattern: '\\_' }, 'is not valid: pattern is not a regular expression'],
  [{ pattern: '(a)\\1' }, 'is not valid: pattern has a backreference'],
  [{ pattern: 7 }, 'is not valid: pattern must be a string'],
  [{ properties: { a: { items: { pattern: '[' } } } }, '(properties.a.items)'],
  [{ patternProperties: { '*': {} } }, 'is not valid: patternProperties is not a regular expression'],
  [{ $ref: '#/$defs/a' }, 'is not valid: $ref refers to "#/$defs/a", where there is no schema'],
  [{ $defs: { a: {} }, properties: { x: { $ref: '#/$defs/b' } } }, 'there is no schema (properties.x)'],
  [{ $defs: {}, $ref: '#/$defs/constructor' }, 'where there is no schema'],
  [{ $defs: { a: 7 }, $ref: '#/$defs/a' }, 'where there is no schema'],
  [{ $ref: '#a' }, 'where there is no schema'],
  [{ $ref: '#/%' }, 'where there is no schema'],
  [{ $dynamicRef: '#node' }, '$dynamicRef refers to "#node", where there is no schema'],
  [{ $ref: 'https://example.com/other' }, 'which is not in the schema'],
])('%j is not a valid schema, and is refused at once', (json, message) => {
  expect(() => new JsonSchema(json, 'The schema')).toThrow(TypeError);
  expect(() => new JsonSchema(json, 'The schema')).toThrow(message);
});

test.each<[JsonObject, unknown, unknown]>([
  [{ patternProperties: { '^x-': { type: 'string' } } }, { 'x-a': 'a', y: 1 }, { 'x-a': 1 }],
  [{ properties: { child: { $ref: '#' } }, required: ['n'] }, { n: 1 }, { n: 1, child: {} }],
  [{ $defs: { 'a/b~c d': { type: 'string' } }, $ref: '#/$defs/a~1b~0c%20d' }, 'a', 1],
  [{ $defs: { a: false }, anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] }, null, 1],
  [{ $defs: { a: { $anchor: 'here', type: 'string' } }, $ref: '#here' }, 'a', 1],
  [{ $dynamicAnchor: 'node', items: { $dynamicRef: '#node' }, type: ['array', 'null'] }, [[null]], [[1]]],
  [
    {
      $defs: { a: { $id: 'https://a.example/', $ref: '#/$defs/b', $defs: { b: { type: 'null' } } } },
      $ref: 'https://a.example/',
    },
    null,
    1,
  ],
  [{ $ref: '#/x/y', x: { y: { type: 'string' } } }, 'a', 1],
  [{ default: { pattern: '(', $ref: '#/nowhere' }, properties: { pattern: { type: 'string' } } }, {}, { pattern: 1 }],
  [{ enum: [{ a: 1, b: [2] }] }, { b: [2], a: 1 }, { b: [2], a: '1' }],
  [{ const: '[1]' }, '[1]', [1]],
  [
    { uniqueItems: true },
    [1, '1', true, 'true', null, 'null', [1], { a: 1 }],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
  ],
  [{ uniqueItems: true }, [0, false], [0, -0]],
  [{ maxLength: 2 }, '\u{1F600}\u{1F600}', 'abc'],
  [{ contains: { type: 'string' }, minContains: 2, maxContains: 3 }, ['a', 1, 'b'], ['a', 1]],
  [{ contains: { type: 'string' }, maxContains: 1 }, ['a', 1], ['a', 'b']],
  [{ dependentRequired: { a: ['b'] } }, { b: 1 }, { a: 1 }],
  [{ if: { const: 1 }, then: false, else: { type: 'string' } }, 'a', 1],
  [{ oneOf: [{ type: 'number' }, { type: 'integer' }] }, 1.5, 1],
  [{ not: { type: 'null' } }, 1, null],
  [{ propertyNames: { maxLength: 1 } }, { a: 1 }, { ab: 1 }],
  [
    { anyOf: [{ properties: { a: {} } }, { properties: { b: {} }, required: ['b'] }], unevaluatedProperties: false },
    { a: 1, b: 1 },
    { a: 1, c: 1 },
  ],
  [{ prefixItems: [{}], contains: { const: 2 }, unevaluatedItems: false }, [1, 2, 2], [1, 2, 3]],
  [{ allOf: [{ properties: { a: {} } }, { unevaluatedProperties: false }] }, {}, { a: 1 }],
])('%j accepts %j and refuses %j', (json, good, bad) => {
  expect(takes(json, good)).toBe(true);
  expect(takes(json, bad)).toBe(false);
});

test('properties that JSON omits are ignored', () => {
  expect(takes({ properties: { a: { type: 'string' } } }, { a: undefined })).toBe(true);
  expect(takes({ required: ['a'] }, { a: undefined })).toBe(false);
});

test('in draft-07, keywords beside $ref are ignored', () => {
  const $schema = 'http://json-schema.org/draft-07/schema#';
  const schema = {
    definitions: { a: { type: 'string' } },
    properties: { a: { $ref: '#/definitions/a', maxLength: 1 } },
  };
  expect(takes({ $schema, ...schema }, { a: 'ab' })).toBe(true);
  expect(takes(schema, { a: 'ab' })).toBe(false);
});

test('two schemas may have the same $id', () => {
  expect(check({ $id: 'https://example.com/a', type: 'string' }, 1)).toHaveProperty('issues');
  expect(check({ $id: 'https://example.com/a', type: 'number' }, 1)).toEqual({ value: 1 });
});

test('a hostile array is refused at its first error', () => {
  const checked = check(
    { items: { type: 'string' } },
    Array.from({ length: 1_000_000 }, () => 1),
  );
  expect(checked.issues).toHaveLength(1);
});

/** Each definition refers to the next one twice. */
function doubling(levels: number): JsonObject {
  const $defs: JsonObject = { [`d${levels}`]: { type: 'string' } };
  for (let level = 0; level < levels; level += 1) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    $defs[`d${level}`] = { allOf: [next, { ...next }] };
  }
  return { $ref: '#/$defs/d0', $defs };
}

test('references that double at each level are followed up to the limit on steps', () => {
  expect(check(doubling(8), 'x')).toEqual({ value: 'x' });
  expect(check(doubling(8), 5)).toMatchObject({ issues: [{ message: 'must be string' }] });
  const message = 'is too large to check (more than 5,000,000 steps)';
  expect(check(doubling(40), 'x')).toEqual({ issues: [{ path: [], message }] });
});

test('a schema that refers to itself for the same value refuses every value', () => {
  const message = 'is too deep to check (more than 500 nested schemas)';
  expect(check({ allOf: [{ $ref: '#' }] }, 1)).toEqual({ issues: [{ path: [], message }] });
});

test('a value with more levels than the stack can hold is refused', () => {
  let tree: unknown = [];
  for (let depth = 0; depth < 1_000_000; depth += 1) tree = [tree];
  for (const schema of [{ items: { $ref: '#' } }, { const: 1 }, { uniqueItems: true }]) {
    expect(check(schema, [tree])).toMatchObject({
      issues: [{ message: expect.stringContaining('too deep to check') }],
    });
  }
});

test('a large list of records is checked', () => {
  const records = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `record ${id}`, tags: ['a', 'b'] }));
  const record = {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      name: { type: 'string', pattern: '^[a-z]+ \\d+$' },
      tags: { uniqueItems: true },
    },
    required: ['id', 'name'],
    additionalProperties: false,
  };
  const schema = { type: 'array', items: record, uniqueItems: true };
  expect(takes({ items: record }, records)).toBe(true);
  expect(takes({ ...schema }, records.slice(0, 5000))).toBe(true);
});

test('long property names with the same beginning count as many steps as sorting them takes', () => {
  const value = Object.fromEntries(Array.from({ length: 5000 }, (_, id) => [`${'字'.repeat(1000)}${id}`, id]));
  const schema = new JsonSchema({ allOf: [{ not: { const: 1 } }, { not: { const: 2 } }] }, 'It');
  expect(schema.validate(value).issues?.[0]?.message).toMatch(/is too large to check/);
});

test('a list of types is refused in linear time, also if it has numbers with one hash', () => {
  const type = collidingNumbers(40_000);
  const started = process.cpuUsage();
  expect(() => check({ type }, 1)).toThrow('type must be one of');
  expect(process.cpuUsage(started).user).toBeLessThan(500_000);
});

test.each([
  [0, -0, true],
  [1, 1.0, true],
  [1e21, 1_000_000_000_000_000_000_000, true],
  [5e-324, 1e-323, false],
  [1, 1 + Number.EPSILON, false],
  [-1, 1, false],
])('the numbers %s and %s are equal: %s', (one, other, equal) => {
  for (const [wanted, value] of [
    [one, other],
    [[one], [other]],
  ]) {
    expect(takes({ const: wanted }, value)).toBe(equal);
    expect(takes({ uniqueItems: true }, [wanted, value])).toBe(!equal);
  }
});
