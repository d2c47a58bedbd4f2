import { expect, test } from 'vitest';
import { FormModel } from './form-model.ts';
import type { Field } from './make-field.ts';
import type { ObjectField } from './object-field.ts';

/** How many fields a form has, or of what else. */
function count(field: Field, own: (field: Field) => number = () => 1): number {
  const inner =
    field.kind === 'object'
      ? [...field.properties.value.map((one) => one.field), ...field.own.value.map((one) => one.field)]
      : field.kind === 'list'
        ? [...field.first.value, ...field.rows.value]
        : field.kind === 'union' && field.active.value
          ? [field.active.value]
          : [];
  return inner.reduce((sum, one) => sum + count(one, own), own(field));
}

const names = (length: number): string[] => Array.from({ length }, (_, at) => `p${at}`);
const all = (length: number, schema: unknown): object =>
  Object.fromEntries(names(length).map((name) => [name, schema]));
/** Definitions d0 … d99, each made of two of the next. */
const doubling = (make: (next: object) => object): object =>
  Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`d${at}`, make({ $ref: `#/$defs/d${at + 1}` })]));
const nested = (depth: number, wrap: (inner: unknown) => object, core: object): object => {
  let schema = core;
  for (let level = 0; level < depth; level += 1) schema = wrap(schema);
  return schema;
};

const required = ['a', 'b'];
const hostile: [string, unknown][] = [
  ['100,000 properties', { type: 'object', properties: all(100_000, { type: 'string', default: 'x' }) }],
  ['100,000 required properties', { type: 'object', properties: all(100_000, {}), required: names(100_000) }],
  ['100,000 names that are only required', { type: 'object', required: names(100_000) }],
  ['100,000 values', { type: 'object', properties: { a: { enum: names(100_000) } } }],
  ['100,000 branches', { oneOf: names(100_000).map((title) => ({ type: 'object', title })) }],
  ['100,000 first items', { type: 'array', prefixItems: names(100_000).map(() => ({})) }],
  [
    'required properties that double at each level',
    {
      $ref: '#/$defs/d0',
      $defs: { ...doubling((next) => ({ type: 'object', properties: { a: next, b: next }, required })), d100: {} },
    },
  ],
  [
    'an allOf that doubles at each level',
    { $ref: '#/$defs/d0', $defs: { ...doubling((n) => ({ allOf: [n, n] })), d100: {} } },
  ],
  [
    'an anyOf that doubles at each level',
    { $ref: '#/$defs/d0', $defs: { ...doubling((n) => ({ anyOf: [n, n] })), d100: {} } },
  ],
  [
    'a required property that refers to the whole',
    { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
  ],
  ['a reference to itself', { $ref: '#' }],
  ['a union of itself', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
  ['an allOf of itself', { allOf: [{ $ref: '#' }], type: 'object' }],
  ['a list of itself as default', { type: 'array', items: { $ref: '#' }, default: [[[[]]]] }],
  ['objects nested 50,000 deep', nested(50_000, (a) => ({ type: 'object', properties: { a }, required: ['a'] }), {})],
  ['an allOf nested 50,000 deep', nested(50_000, (one) => ({ allOf: [one] }), {})],
  ['an anyOf nested 50,000 deep', nested(50_000, (one) => ({ anyOf: [one] }), {})],
  ['a default nested 50,000 deep', { default: nested(50_000, (a) => ({ a }), {}) }],
  ['a value nested 50,000 deep', { enum: [nested(50_000, (a) => ({ a }), {})] }],
  [
    '200 properties that each refer to 100,000 properties',
    {
      type: 'object',
      properties: all(200, { $ref: '#/$defs/d' }),
      $defs: { d: { type: 'object', properties: all(100_000, {}) } },
    },
  ],
  [
    '200 properties with 1,000 values each',
    {
      type: 'object',
      properties: all(200, { $ref: '#/$defs/d' }),
      $defs: { d: { enum: names(1000) } },
    },
  ],
  [
    '200 required properties with 100 alternatives each',
    {
      type: 'object',
      properties: all(200, { $ref: '#/$defs/d' }),
      required: names(200),
      $defs: { d: { oneOf: names(100).map((title) => ({ type: 'object', title })) } },
    },
  ],
  [
    '200 properties with a default of 100,000 items each',
    {
      type: 'object',
      properties: all(200, { $ref: '#/$defs/d' }),
      $defs: { d: { type: 'array', items: { type: 'string' }, default: names(100_000) } },
    },
  ],
];

test.each(hostile)('a schema with %s has a form of at most 2,000 fields', (_, schema) => {
  const form = new FormModel(schema);
  expect(count(form.root)).toBeLessThanOrEqual(2_000);
  expect(form.json.value ?? form.errors.value).toBeTruthy();
  void form.problems.value;
});

function optionsOf(field: Field): number {
  if (field.kind === 'choice') return field.shape.options.length;
  return field.kind === 'union' ? field.shape.branches.length : 0;
}

// A browser needs a second for 20,000 values to choose from.
test.each(hostile)('a form of a schema with %s has at most 2,500 values and branches to choose from', (_, schema) => {
  expect(count(new FormModel(schema).root, optionsOf)).toBeLessThanOrEqual(2_500);
});

test('more properties are shown on demand, the required ones first', () => {
  const form = new FormModel({ type: 'object', properties: all(1_000, { type: 'string' }), required: ['p999'] });
  const root = form.root as ObjectField;
  expect(root.properties.value).toHaveLength(100);
  expect(root.properties.value[0]!.name).toBe('p999');
  expect(root.hidden.value).toBe(900);
  root.showMore();
  expect(root.properties.value).toHaveLength(200);
  form.load('{"p999":"a","p998":"b"}');
  expect(form.json.value, 'a value shows its own properties').toBe('{"p999":"a","p998":"b"}');
});

test('JSON that is too large for fields stays text', () => {
  const form = new FormModel({ type: 'object', additionalProperties: { type: 'array', items: { type: 'integer' } } });
  const json = JSON.stringify(
    all(
      100,
      Array.from({ length: 999 }, () => 1),
    ),
  );
  form.load(json);
  expect(form.root.rawError.value).toMatch(/has too many values for fields$/);
  expect(form.json.value).toBe(json);
});

test('a keystroke does not copy the mistakes that were found before, for each of 50,000 missing properties', () => {
  const form = new FormModel({ type: 'object', properties: all(50_000, {}), required: names(50_000) });
  const before = process.cpuUsage();
  expect(form.messages.value.get(form.root)!.length).toBeGreaterThan(49_000);
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});

test.each([
  ['properties', (at: number) => ({ properties: { [`p${at}`]: { type: 'string' } } })],
  ['required properties', (at: number) => ({ required: [`p${at}`] })],
])('an object of thousands of joined schemas with %s is edited as JSON', (_, part) => {
  const model = (length: number): FormModel =>
    new FormModel({ type: 'object', allOf: Array.from({ length }, (__, at) => part(at)) });
  expect(model(300).root.kind).toBe('object');
  expect(model(15_000).root.kind).toBe('json');
});

test('a long value that thousands of joined schemas compare is edited as JSON', () => {
  const $defs = { long: { type: 'string', enum: ['x'.repeat(500_000)] } };
  const model = (length: number): FormModel =>
    new FormModel({ $defs, allOf: names(length).map(() => ({ $ref: '#/$defs/long' })) });
  expect(model(2).root.kind).toBe('choice');
  const before = process.cpuUsage();
  expect(model(9000).root.kind).toBe('json');
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});

test('definitions count only where they are joined', () => {
  const form = new FormModel({
    type: 'object',
    properties: { children: { type: 'array', items: { $ref: '#' } } },
    $defs: all(2000, {}),
  });
  form.load(JSON.stringify({ children: names(500).map(() => ({})) }));
  expect(count(form.root, (field) => (field.kind === 'object' ? 1 : 0))).toBe(501);
});
