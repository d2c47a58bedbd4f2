import { expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { foreignSchema } from './foreign-schema.ts';

const takes = async (schema: JsonObject, value: unknown): Promise<boolean> => {
  const { issues } = await foreignSchema(schema, 'The schema').validate(value);
  return issues === undefined;
};
const pattern = '^a$';

test('a pattern that would take for ever is not tried', async () => {
  const started = performance.now();
  expect(await takes({ type: 'string', pattern: '^(.|.|.)*\\u0001$' }, 'x'.repeat(40))).toBe(true);
  expect(performance.now() - started).toBeLessThan(5000);
});

test.each<[string, JsonObject, unknown]>([
  ['not', { not: { pattern } }, 'b'],
  ['oneOf', { oneOf: [{ pattern }, { pattern: '^b$' }] }, 'b'],
  ['oneOf beside allOf', { allOf: [{ type: 'string' }], oneOf: [{ pattern }, { minLength: 1 }] }, 'b'],
  ['if', { if: { pattern }, then: { minLength: 5 } }, 'b'],
  ['oneOf by reference', { oneOf: [{ $ref: '#/$defs/a' }, { const: 'b' }], $defs: { a: { pattern } } }, 'b'],
  ['maxContains', { contains: { pattern }, maxContains: 1 }, ['a', 'b']],
])('what %s takes is taken without its patterns', async (_, schema, value) => {
  expect(await takes(schema, value)).toBe(true);
});

test('what beside patterns is wrong is refused', async () => {
  const either = [{ type: 'string', pattern }, { type: 'integer' }];
  expect(await takes({ allOf: [{ type: 'array' }], oneOf: either }, [])).toBe(false);
  expect(await takes({ oneOf: either }, true)).toBe(false);
  expect(await takes({ oneOf: [{ type: 'number' }, { type: 'integer' }] }, 1)).toBe(false);
});

test('what it was made of is not touched', () => {
  const schema = { type: 'string', pattern };
  foreignSchema(schema, 'The schema');
  expect(schema).toEqual({ type: 'string', pattern });
});

/** Each definition refers to the next one twice. */
function doubling(levels: number, keyword = 'anyOf'): JsonObject {
  const $defs: JsonObject = { [`d${levels}`]: { type: 'string' } };
  for (let level = 0; level < levels; level += 1) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    $defs[`d${level}`] = { [keyword]: [next, { ...next }] };
  }
  return { $ref: '#/$defs/d0', $defs };
}

test.each(['anyOf', 'allOf', 'oneOf', 'prefixItems'])(
  'references that double forty times by %s are refused',
  (keyword) => {
    const started = performance.now();
    expect(() => foreignSchema(doubling(40, keyword), 'The schema')).toThrow('more than 10000 subschemas');
    expect(performance.now() - started).toBeLessThan(1000);
  },
);

test('references that double a few times are followed', async () => {
  expect(await takes(doubling(8), 'x')).toBe(true);
  expect(await takes(doubling(8), 5)).toBe(false);
});

test('anchors and ids double as pointers do', () => {
  const doubled = (reference: (level: number) => string, named: (level: number) => JsonObject): JsonObject => {
    const $defs: JsonObject = {};
    for (let level = 0; level < 40; level += 1) {
      $defs[`d${level}`] = { ...named(level), anyOf: [{ $ref: reference(level + 1) }, { $ref: reference(level + 1) }] };
    }
    $defs['d40'] = { ...named(40), type: 'string' };
    return { $ref: reference(0), $defs };
  };
  const anchors = doubled(
    (level) => `#a${level}`,
    (level) => ({ $anchor: `a${level}` }),
  );
  const ids = doubled(
    (level) => `schema://x/a${level}`,
    (level) => ({ $id: `schema://x/a${level}` }),
  );
  for (const schema of [anchors, ids]) {
    expect(() => foreignSchema(schema, 'The schema')).toThrow('more than 10000 subschemas');
  }
});

test('a chain of references that is too long is refused before it fills the stack', () => {
  const $defs: JsonObject = { d5000: { type: 'string' } };
  for (let level = 0; level < 5000; level += 1) $defs[`d${level}`] = { $ref: `#/$defs/d${level + 1}` };
  expect(() => foreignSchema({ $ref: '#/$defs/d0', $defs }, 'The schema')).toThrow('deeper than 1000');
});

test('a schema of trees refers to itself', async () => {
  const tree = { type: 'object', properties: { name: { type: 'string' }, inner: { items: { $ref: '#' } } } };
  expect(await takes(tree, { name: 'a', inner: [{ name: 'b', inner: [] }] })).toBe(true);
  expect(await takes(tree, { name: 'a', inner: [{ name: 5 }] })).toBe(false);
});

test('an anchor, an id and true are what a reference may lead to', async () => {
  const schema = {
    allOf: [{ $ref: '#text' }, { $ref: 'schema://x/short' }, { $ref: '#/$defs/any' }, { $ref: '#/$defs/a~1b%20c' }],
    $defs: {
      text: { $anchor: 'text', type: 'string' },
      short: { $id: 'schema://x/short', maxLength: 3 },
      any: true,
      'a/b c': { minLength: 2 },
    },
  };
  expect(await takes(schema, 'abc')).toBe(true);
  for (const value of [5, 'abcd', 'a']) expect(await takes(schema, value)).toBe(false);
});

test('a pattern is not reached through what is no schema', () => {
  const hidden = { type: 'string', pattern: '^(.|.|.)*\\u0001$' };
  for (const schema of [
    { $ref: '#/default', default: hidden },
    { $ref: '#/x/y', x: { y: hidden } },
    { $ref: '#there', x: { y: { ...hidden, $anchor: 'there' } } },
  ]) {
    expect(() => foreignSchema(schema, 'The schema')).toThrow('where there is no schema');
  }
});

test('a way back through a part of the value hides no doubling', () => {
  const { $defs, ...rest } = doubling(40);
  const definitions = $defs as Record<string, JsonObject>;
  for (let level = 40; level > 0; level -= 1) {
    definitions[`d${level}`]!['properties'] = { back: { $ref: `#/$defs/d${level - 1}` } };
  }
  const schema = { anyOf: [{ $ref: '#/$defs/d40' }, rest], $defs: definitions };
  expect(() => foreignSchema(schema, 'The schema')).toThrow('more than 10000 subschemas');
});

test('a schema that refers to itself for the same value is refused', () => {
  const schema = { anyOf: [{ type: 'string' }, { $ref: '#' }] };
  expect(() => foreignSchema(schema, 'The schema')).toThrow('refers to itself without an end');
});
