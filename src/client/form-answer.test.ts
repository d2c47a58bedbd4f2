import { expect, test } from 'vitest';
import { filledIn } from './form-answer.ts';

const form = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2, maxLength: 4 },
    age: { type: 'integer', minimum: 0, maximum: 150, default: 18 },
    color: { type: 'string', enum: ['red', 'blue'] },
    size: {
      type: 'string',
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
      default: 's',
    },
    tags: {
      type: 'array',
      items: { type: 'string', anyOf: [{ const: 'a' }, { const: 'b' }] },
      minItems: 1,
      maxItems: 2,
    },
    paid: { type: 'boolean' },
  },
  required: ['name'],
};

test('what was left out gets its default', () => {
  expect(filledIn(form, { name: 'Ada', tags: ['a'], paid: false })).toEqual({
    name: 'Ada',
    age: 18,
    size: 's',
    tags: ['a'],
    paid: false,
  });
  expect(filledIn({ properties: { a: { type: 'string', default: 'x' } }, required: ['a'] }, undefined)).toEqual({
    a: 'x',
  });
});

test.each(['constructor', '__proto__', 'toString'])('a field may be called as it likes: %s', (name) => {
  const field = JSON.parse(`{"${name}":{"type":"string","default":"x"}}`) as object;
  const content = filledIn({ properties: field, required: [name] }, {});
  expect(Object.entries(content)).toEqual([[name, 'x']]);
  const given = JSON.parse(`{"${name}":"y"}`) as object;
  expect(Object.entries(filledIn({ properties: field }, given))).toEqual([[name, 'y']]);
  const bare = JSON.parse(`{"${name}":{"type":"string"}}`) as object;
  expect(filledIn({ properties: bare }, {})).toEqual({});
});

test('a length is counted in characters as people count them', () => {
  expect(filledIn(form, { name: '😀😀😀😀' })).toMatchObject({ name: '😀😀😀😀' });
});

test.each([
  [{}, 'name is missing'],
  [{ name: undefined }, 'name is missing'],
  [{ name: 'A' }, 'name: its length must be at least 2'],
  [{ name: 'Adaaa' }, 'name: its length must be at most 4'],
  [{ name: 'Ada', age: 1.5 }, 'age must be of type integer'],
  [{ name: 'Ada', age: 151 }, 'age must be at most 150'],
  [{ name: 'Ada', age: '7' }, 'age must be of type integer'],
  [{ name: 'Ada', color: 'green' }, 'color must be one of ["red","blue"]'],
  [{ name: 'Ada', size: 'm' }, 'size must be one of ["s","l"]'],
  [{ name: 'Ada', tags: 'a' }, 'tags must be a list'],
  [{ name: 'Ada', tags: [] }, 'tags: the number of its items must be at least 1'],
  [{ name: 'Ada', tags: ['c'] }, 'tags must be one of ["a","b"]'],
  [{ name: 'Ada', tags: [1] }, 'tags must be a list of strings'],
  [{ name: 'Ada', paid: 'no' }, 'paid must be of type boolean'],
  ['Ada', 'content must be an object'],
])('%j is refused: %s', (content, why) => {
  expect(() => filledIn(form, content)).toThrow(new TypeError(why));
});

test('a form that is none asks for nothing', () => {
  expect(filledIn({ properties: 'x', required: 'y' }, { a: 1 })).toEqual({ a: 1 });
  expect(filledIn({ properties: { a: true } }, { a: 1 })).toEqual({ a: 1 });
});
