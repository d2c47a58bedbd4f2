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
