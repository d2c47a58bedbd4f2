import { expect, test } from 'vitest';
import { without } from './shape.ts';

test('an object without some of its properties keeps all others, also one named __proto__', () => {
  const object = JSON.parse('{"b":1,"__proto__":{"x":2},"a":3,"1":4}') as Record<string, unknown>;
  const left = without(object, ['a', 'c']);
  expect(JSON.stringify(left)).toBe('{"1":4,"b":1,"__proto__":{"x":2}}');
  expect(Object.getPrototypeOf(left)).toBe(Object.prototype);
  expect(JSON.stringify(object)).toBe('{"1":4,"b":1,"__proto__":{"x":2},"a":3}');
});

test('an object that has none of the properties is returned as it is', () => {
  const object = { a: 1, b: undefined };
  expect(without(object, ['b', 'c'])).toBe(object);
  expect(without(object, undefined)).toBe(object);
});
