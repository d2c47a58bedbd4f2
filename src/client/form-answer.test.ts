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

test('missing fields get their defaults', async () => {
  expect(await filledIn(form, { name: 'Ada', tags: ['a'], paid: false })).toEqual({
    name: 'Ada',
    age: 18,
    size: 's',
    tags: ['a'],
    paid: false,
  });
  expect(await filledIn({ properties: { a: { type: 'string', default: 'x' } }, required: ['a'] }, undefined)).toEqual({
    a: 'x',
  });
});

test.each(['constructor', '__proto__', 'toString'])('a field may have any name: %s', async (name) => {
  const field = JSON.parse(`{"${name}":{"type":"string","default":"x"}}`) as object;
  const content = await filledIn({ properties: field, required: [name] }, {});
  expect(Object.entries(content)).toEqual([[name, 'x']]);
  const given = JSON.parse(`{"${name}":"y"}`) as object;
  expect(Object.entries(await filledIn({ properties: field }, given))).toEqual([[name, 'y']]);
  const bare = JSON.parse(`{"${name}":{"type":"string"}}`) as object;
  expect(await filledIn({ properties: bare }, {})).toEqual({});
});

test('length is counted in characters, not in code units', async () => {
  expect(await filledIn(form, { name: '😀😀😀😀' })).toMatchObject({ name: '😀😀😀😀' });
});

test.each([
  [{}, 'name: is missing'],
  [{ name: undefined }, 'name: is missing'],
  [{ name: 'A' }, 'name: must NOT have fewer than 2 characters'],
  [{ name: 'Adaaa' }, 'name: must NOT have more than 4 characters'],
  [{ name: 'Ada', age: 1.5 }, 'age: must be integer'],
  [{ name: 'Ada', age: 151 }, 'age: must be <= 150'],
  [{ name: 'Ada', age: '7' }, 'age: must be integer'],
  [{ name: 'Ada', color: 'green' }, 'color: must be one of ["red","blue"]'],
  [{ name: 'Ada', size: 'm' }, 'size: must be "s"; size: must be "l"; size: must match exactly one schema in oneOf'],
  [{ name: 'Ada', tags: 'a' }, 'tags: must be array'],
  [{ name: 'Ada', tags: [] }, 'tags: must NOT have fewer than 1 items'],
  [{ name: 'Ada', tags: ['c'] }, 'tags.0: must be "a"; tags.0: must be "b"; tags.0: must match a schema in anyOf'],
  [{ name: 'Ada', tags: [1] }, 'tags.0: must be string'],
  [{ name: 'Ada', paid: 'no' }, 'paid: must be boolean'],
  ['Ada', 'content must be an object'],
])('%j is refused: %s', async (content, why) => {
  await expect(filledIn(form, content)).rejects.toThrow(new TypeError(why));
});

test('a form that is not a schema is refused', async () => {
  await expect(filledIn({ properties: 'x' }, { a: 1 })).rejects.toThrow(
    'The form is not valid: properties must be an object',
  );
});
