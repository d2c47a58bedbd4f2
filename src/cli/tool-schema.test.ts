import { describe, expect, test } from 'vitest';
import { wanted } from './tool-arguments.ts';
import { ToolSchema } from './tool-schema.ts';

test('at most 20 choices and 200 characters of a type are described', () => {
  const numbers = Array.from({ length: 100_000 }, (_, index) => index);
  const first = numbers.slice(0, 20).join(' | ');
  expect(new ToolSchema({ enum: numbers }).describe()).toBe(`${first} | and 99980 more`);
  expect(new ToolSchema({ enum: numbers.slice(0, 20) }).describe()).toBe(first);
  expect(new ToolSchema({ const: 'x'.repeat(1000) }).describe()).toBe(`"${'x'.repeat(199)}…`);
});

test('a type that is not text is described, whatever it is', () => {
  expect(new ToolSchema({ type: [{ toString: 1, valueOf: 1 }, 'null', null] }).describe()).toBe(
    '{"toString":1,"valueOf":1} | null | ',
  );
});

describe('many arguments that refer to one large definition are described in little time:', () => {
  const properties = (schema: object) =>
    Object.fromEntries(Array.from({ length: 20_000 }, (_, id) => [`a${id}`, schema]));
  const direct = { $ref: '#/$defs/large' };
  const names = Array.from({ length: 50_000 }, (_, id) => `name-${id}`);

  test.each<[string, object, object]>([
    ['a long reference', direct, { $ref: `#${'/'.repeat(2_000_000)}` }],
    ['many parts', direct, { anyOf: names.map(() => ({ type: 'string' })) }],
    ['many parts that are the same', direct, { anyOf: names.map(() => ({ $ref: '#/$defs/names' })) }],
    ['many choices', { anyOf: [direct] }, { enum: names }],
    ['one long choice', { anyOf: [direct] }, { const: 'x'.repeat(2_000_000) }],
    ['many types', { anyOf: [direct] }, { type: names }],
    ['lists of lists', { type: 'array', items: direct }, { type: 'array', items: { anyOf: names.map(() => ({})) } }],
  ])('%s', (_, schema, large) => {
    const all = { type: 'object' as const, properties: properties(schema), $defs: { large, names: { enum: names } } };
    const started = process.cpuUsage();
    expect(wanted({ name: 'tool', inputSchema: all })).toMatch(/^tool takes a0 \(.*\) and 19900 more$/);
    expect(process.cpuUsage(started).user).toBeLessThan(500_000);
  });
});
