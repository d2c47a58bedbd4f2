import { expect, test } from 'vitest';
import { ToolSchema } from './tool-schema.ts';

test('at most 20 choices and 200 characters of a type are described', () => {
  const numbers = Array.from({ length: 100_000 }, (_, index) => index);
  const first = numbers.slice(0, 20).join(' | ');
  expect(new ToolSchema({ enum: numbers }).describe()).toBe(`${first} | and 99980 more`);
  expect(new ToolSchema({ enum: numbers.slice(0, 20) }).describe()).toBe(first);
  expect(new ToolSchema({ const: 'x'.repeat(1000) }).describe()).toBe(`"${'x'.repeat(199)}…`);
});
