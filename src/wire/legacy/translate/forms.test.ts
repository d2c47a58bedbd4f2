import { expect, test } from 'vitest';
import { collidingNumbers } from '../../../../test/support/colliding-numbers.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { plainForm } from './forms.ts';

const several = (more: object = {}) => ({ type: 'array', items: { type: 'string', enum: ['a', 'b'] }, ...more });
const form = (properties: object, required?: string[]) => ({
  type: 'object',
  properties,
  ...(required === undefined ? {} : { required }),
});

test('a multiple choice becomes a boolean for each option, with names unlike those of other fields', () => {
  const { schema, restore } = plainForm(form({ 'x.a': { type: 'string' }, x: several() }, ['x', 'x.a']));
  expect(Object.keys(schema['properties'])).toEqual(['x.a', 'x.a_2', 'x.b']);
  expect(schema['required']).toEqual(['x.a']);
  expect(restore({ 'x.a': 'text', 'x.a_2': true, 'x.b': true })).toEqual({ 'x.a': 'text', x: ['a', 'b'] });
});

test.each([
  ['if the field is required', several({ minItems: 1 }), ['x'], { 'x.a': false }, { x: [] }],
  ['if the field may be empty', several(), undefined, { 'x.a': false, 'x.b': false }, { x: [] }],
  ['if the field may not be empty', several({ minItems: 1 }), undefined, { 'x.a': false, 'x.b': false }, {}],
  ['if there was no answer', several(), undefined, {}, {}],
])('a choice without a selected option is converted back, %s', (_, field, required, content, whole) => {
  expect(plainForm(form({ x: field }, required)).restore(content)).toEqual(whole);
});

test('a title, a description or an option of a wrong type becomes JSON where a text is needed', () => {
  const odd = { toString: 1 };
  const list = { type: 'array', title: odd, description: odd, items: { enum: [odd, 5, null] } };
  const titled = { type: 'string', oneOf: [{ const: odd, title: odd }] };
  const { schema } = plainForm(form({ x: list, y: titled }));
  const text = '{"toString":1}';
  expect(schema['properties']).toEqual({
    [`x.${text}`]: { type: 'boolean', title: `${text}: ${text}`, description: odd },
    'x.5': { type: 'boolean', title: `${text}: 5`, description: odd },
    'x.null': { type: 'boolean', title: `${text}: null`, description: odd },
    y: { type: 'string', enum: [text], enumNames: [text] },
  });
});

test('a form with only such fields has no required fields', () => {
  expect(plainForm(form({ x: several() }, ['x'])).schema).not.toHaveProperty('required');
});

test.each([[{ type: 'array' }], [{ type: 'array', items: { type: 'string' } }]])('%j is not a choice', (field) => {
  expect(() => plainForm(form({ x: field }))).toThrow(expect.objectContaining({ code: -32603 }));
});

test('plain fields stay unchanged', () => {
  const plain = form({ a: { type: 'string', enum: ['x'], enumNames: ['X'] }, b: { type: 'boolean', default: true } });
  expect(plainForm(plain).schema).toEqual(plain);
  expect(plainForm({ type: 'object' }).schema).toEqual({ type: 'object' });
});

test('a form with very many options takes linear time', () => {
  const values = Array.from({ length: 19_999 }, (_, index) => `o${index}`);
  const same = values.map(() => 'same');
  const properties = {
    many: { type: 'array', items: { enum: values }, default: values },
    same: { type: 'array', items: { enum: same } },
  };
  const before = process.cpuUsage();
  const { schema, restore } = plainForm({ type: 'object', properties, required: ['many', ...values] });
  // Comparing each option with every other took minutes.
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(2000);
  expect(Object.keys(schema['properties'])).toHaveLength(20_000);
  expect(schema['properties']['same.same']).toMatchObject({ type: 'boolean' });
  expect(restore({ 'many.o7': true, 'same.same': true })).toEqual({ many: ['o7'], same: ['same'] });
});

test('a form with very many fields takes little time', () => {
  const names = Array.from({ length: 18_000 }, (_, n) => `${'p'.repeat(300)}${n}`);
  const field = { type: 'array', items: { enum: ['a'] } };
  const asked = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, field])),
    required: names.toReversed(),
  };
  const text = JSON.stringify(asked);
  const parsed = JSON.parse(text) as JsonObject;
  const before = process.cpuUsage();
  expect(Object.keys(plainForm(parsed).schema['properties'] as object)).toHaveLength(names.length);
  // The processor time of this process only. It took a second when each name was compared with all others.
  expect(process.cpuUsage(before).user).toBeLessThan(900_000);
});

const underscores = Array.from({ length: 1500 }, (_, length) => `a${'_'.repeat(length)}`);
const numbers = collidingNumbers(40_000);

test.each<[string, JsonObject]>([
  ['required numbers with one hash', { properties: { x: several() }, required: numbers }],
  ['preset numbers with one hash', { properties: { x: several({ default: numbers }) } }],
  [
    'names that are all used',
    {
      properties: {
        ...Object.fromEntries(underscores.map((name) => [`x.${name}`, {}])),
        x: { type: 'array', items: { enum: underscores.slice(0, 1000) } },
      },
    },
  ],
])('a form is converted in linear time: %s', (_, schema) => {
  const started = process.cpuUsage();
  expect(Object.keys(plainForm(schema).schema['properties']).length).toBeGreaterThan(1);
  expect(process.cpuUsage(started).user).toBeLessThan(500_000);
});

test('many options do not become as many fields', () => {
  const items = (count: number) => ({ enum: Array.from({ length: count }, (_, n) => `${n}`) });
  const formWith = (last: number): JsonObject => ({
    properties: { x: { type: 'array', items: items(19_999) }, y: { type: 'array', items: items(last) } },
  });
  expect(Object.keys(plainForm(formWith(1)).schema['properties'])).toHaveLength(20_000);
  expect(() => plainForm(formWith(2))).toThrow('too many or too long for the revision of the client');
});

test.each<[string, JsonObject]>([
  ['name', { ['n'.repeat(200_000)]: several() }],
  ['title', { x: several({ title: 't'.repeat(200_000) }) }],
  ['description', { x: several({ description: 'd'.repeat(200_000) }) }],
])('a long %s is not repeated for many options', (_, properties) => {
  const options = Array.from({ length: 100 }, (_each, n) => String(n));
  for (const field of Object.values<JsonObject>(properties)) field['items'] = { enum: options };
  expect(() => plainForm({ properties })).toThrow('too long for the revision of the client');
});
