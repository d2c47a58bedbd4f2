import { expect, test } from 'vitest';
import { FormModel } from './form-model.ts';
import { pathText } from './field.ts';
import type { Field } from './make-field.ts';
import type { ChoiceField, NumberField, TextField } from './leaf-fields.ts';
import type { ListField } from './list-field.ts';
import type { ObjectField } from './object-field.ts';
import type { UnionField } from './union-field.ts';

/** The field at a path of names and positions. */
function at(form: FormModel, ...steps: string[]): Field {
  let field = form.root;
  for (const step of steps) {
    const child = field.childAt(step);
    if (!child) throw new Error(`There is no field ${step}`);
    field = child;
  }
  return field;
}
const textAt = (form: FormModel, ...steps: string[]): TextField => at(form, ...steps) as TextField;
const numberAt = (form: FormModel, ...steps: string[]): NumberField => at(form, ...steps) as NumberField;
const choiceAt = (form: FormModel, ...steps: string[]): ChoiceField => at(form, ...steps) as ChoiceField;
const objectAt = (form: FormModel, ...steps: string[]): ObjectField => at(form, ...steps) as ObjectField;
const listAt = (form: FormModel, ...steps: string[]): ListField => at(form, ...steps) as ListField;
const unionAt = (form: FormModel, ...steps: string[]): UnionField => at(form, ...steps) as UnionField;

const object = (properties: object, rest: object = {}): object => ({ type: 'object', properties, ...rest });
const errorsOf = (form: FormModel): string[] =>
  form.errors.value.map(({ path, message }) => `${pathText(path)} ${message}`);
const problemsOf = (form: FormModel): string[] =>
  form.problems.value.map(({ path, message }) => `${pathText(path)} ${message}`);
const optionsOf = (form: FormModel, ...steps: string[]): string[] =>
  choiceAt(form, ...steps).shape.options.map(({ json }) => json);
const branchesOf = (form: FormModel, ...steps: string[]): string[] =>
  unionAt(form, ...steps).shape.branches.map(({ label }) => label);

test('defaults that a browser needs long to show are not shown, and others are', () => {
  const texts = {
    chinese: '中文。'.repeat(5000),
    plain: 'SELECT 1;\n'.repeat(500),
    mixed: 'aع'.repeat(1000),
    words: 'אב '.repeat(10_000),
    lines: '\n'.repeat(2000),
    long: 'ع'.repeat(5_000_000),
  };
  const properties = Object.entries(texts).map(([name, text]) => [name, { type: 'string', default: text }]);
  const form = new FormModel(object(Object.fromEntries([...properties, ['last', { type: 'string', default: 'x' }]])));
  expect(JSON.parse(form.json.value!)).toEqual({ chinese: texts.chinese, plain: texts.plain, last: 'x' });
});

test('optional fields that nobody touched are not sent', () => {
  const form = new FormModel(
    object({
      text: { type: 'string' },
      number: { type: 'number' },
      flag: { type: 'boolean' },
      list: { type: 'array', items: { type: 'string' } },
      inner: object({ a: { type: 'string', default: 'x' } }),
      nullable: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
      any: {},
      either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    }),
  );
  expect(form.json.value).toBe('{}');
  expect(form.problems.value).toEqual([]);
});

test('defaults are shown and sent, and an optional property can be emptied', () => {
  const form = new FormModel(
    object({
      text: { type: 'string', default: 'x' },
      number: { type: 'integer', default: 10 },
      flag: { type: 'boolean', default: false },
      list: { type: 'array', items: { type: 'string' }, default: ['a', 'b'] },
    }),
  );
  expect(form.json.value).toBe('{"text":"x","number":10,"flag":false,"list":["a","b"]}');
  textAt(form, 'text').type('');
  numberAt(form, 'number').type('');
  choiceAt(form, 'flag').choose(-1);
  listAt(form, 'list').exclude();
  expect(form.json.value).toBe('{}');
});

test('a default that does not fit its own schema is not sent', () => {
  expect(new FormModel(object({ a: { type: 'string', default: null } })).json.value).toBe('{}');
  expect(new FormModel(object({ a: { type: 'string', default: 7 } }, { required: ['a'] })).json.value).toBe('{}');
});

test.each(['1.0', '12345678901234567890', '-0', '1e400', '0.10', '2E+3'])(
  'the number %s is sent as written',
  (typed) => {
    const form = new FormModel(object({ n: { type: 'number' } }));
    numberAt(form, 'n').type(typed);
    expect(form.json.value).toBe(`{"n":${typed}}`);
    form.root.showRaw();
    form.root.showFields();
    expect(numberAt(form, 'n').text.value).toBe(typed);
  },
);

test.each(['1.', '-', '.5', '+1', '1,5', '0x10', '01', 'NaN', 'Infinity', '1 2', '"1"'])(
  'the text %s is no number, and is not sent as something else',
  (typed) => {
    const form = new FormModel(object({ n: { type: 'number' } }));
    numberAt(form, 'n').type(typed);
    expect(form.json.value).toBeUndefined();
    expect(errorsOf(form)).toEqual(['n is not a number as JSON writes it, such as -1.5 or 2e3']);
    expect(numberAt(form, 'n').text.value).toBe(typed);
  },
);

test('required properties without a value are named, and the rest can be sent anyway', () => {
  const form = new FormModel(
    object(
      { a: { type: 'string' }, b: { type: 'boolean' }, c: object({ d: { type: 'number' } }, { required: ['d'] }) },
      { required: ['a', 'b', 'c'] },
    ),
  );
  expect(form.json.value).toBe('{"c":{}}');
  expect(problemsOf(form)).toEqual(['a is required', 'b is required', 'c.d is required']);
  expect(form.messages.value.get(form.root)).toBeUndefined();
  expect(form.messages.value.get(at(form, 'a'))).toEqual(['is required']);
});

test('a value that breaks the schema has a problem at its field, and can be sent', () => {
  const form = new FormModel(object({ list: { type: 'array', items: { type: 'integer', maximum: 3 } } }));
  listAt(form, 'list').add();
  numberAt(form, 'list', '0').type('4');
  expect(form.json.value).toBe('{"list":[4]}');
  expect(problemsOf(form)).toEqual(['list[0] must be <= 3']);
  expect(form.messages.value.get(at(form, 'list', '0'))).toEqual(['must be <= 3']);
});

test('the empty text is sent if asked for, and as an item of a list', () => {
  const form = new FormModel(object({ a: { type: 'string' }, b: { type: 'array', items: { type: 'string' } } }));
  textAt(form, 'a').sendsEmpty.value = true;
  listAt(form, 'b').add();
  expect(form.json.value).toBe('{"a":"","b":[""]}');
});

test('enums and const have values of any type', () => {
  const form = new FormModel(
    object(
      {
        mixed: { enum: ['1', 1, null, true, { a: 1 }] },
        titled: {
          oneOf: [
            { const: 'r', title: 'Red' },
            { const: 2, title: 'Two' },
          ],
        },
        named: { type: 'string', enum: ['x', 'y'], enumNames: ['Ex', 'Why'] },
        nullable: { anyOf: [{ enum: ['a'] }, { type: 'null' }] },
        nullableType: { type: ['string', 'null'], enum: ['a', null] },
        openApi: { type: 'boolean', nullable: true },
        fixed: { const: 'v1' },
      },
      { required: ['fixed'] },
    ),
  );
  expect(optionsOf(form, 'mixed')).toEqual(['"1"', '1', 'null', 'true', '{"a":1}']);
  expect(choiceAt(form, 'mixed').shape.options.map(({ label }) => label)).toEqual(optionsOf(form, 'mixed'));
  expect(choiceAt(form, 'titled').shape.options).toEqual([
    { label: 'Red', json: '"r"' },
    { label: 'Two', json: '2' },
  ]);
  expect(choiceAt(form, 'named').shape.options.map(({ label }) => label)).toEqual(['Ex', 'Why']);
  expect(optionsOf(form, 'nullable')).toEqual(['"a"', 'null']);
  expect(optionsOf(form, 'nullableType')).toEqual(['"a"', 'null']);
  expect(optionsOf(form, 'openApi')).toEqual(['true', 'false', 'null']);
  choiceAt(form, 'mixed').choose(4);
  expect(form.json.value).toBe('{"mixed":{"a":1},"fixed":"v1"}');
});

test.each([
  { type: ['integer', 'null'] },
  { anyOf: [{ type: 'integer' }, { type: 'null' }] },
  { oneOf: [{ type: 'null' }, { $ref: '#/$defs/n' }] },
  { type: 'integer', nullable: true },
])('%j is a number field that can be null', (schema) => {
  const form = new FormModel({ ...object({ n: schema }), $defs: { n: { type: 'integer' } } });
  const field = numberAt(form, 'n');
  expect(field.kind).toBe('number');
  field.isNull.value = true;
  expect(form.json.value).toBe('{"n":null}');
  field.type('5');
  expect(form.json.value).toBe('{"n":5}');
});

test('the branches of a union are labelled by title, discriminator, definition or type', () => {
  const form = new FormModel({
    ...object({
      shape: {
        oneOf: [
          object({ kind: { const: 'circle' }, r: { type: 'number' } }, { required: ['kind', 'r'] }),
          object({ kind: { const: 'square' }, side: { type: 'number' } }, { required: ['kind', 'side'] }),
          { title: 'None at all', type: 'boolean' },
          { $ref: '#/$defs/other' },
          { type: 'array', items: { type: 'string' } },
          { type: 'array', items: { type: 'string' }, minItems: 2 },
        ],
      },
    }),
    $defs: { other: object({ x: { type: 'string' } }) },
  });
  expect(branchesOf(form, 'shape')).toEqual([
    'kind: circle',
    'kind: square',
    'None at all',
    'other',
    'array of string',
    'array of string (2)',
  ]);
  expect(form.json.value).toBe('{}');
  unionAt(form, 'shape').choose(1);
  numberAt(form, 'shape', 'side').type('2');
  expect(form.json.value).toBe('{"shape":{"kind":"square","side":2}}');
  unionAt(form, 'shape').choose(0);
  expect(form.json.value).toBe('{"shape":{"kind":"circle"}}');
  expect(problemsOf(form)[0]).toBe('shape.r is required');
  unionAt(form, 'shape').choose(1);
  expect(form.json.value, 'what was typed for a branch is kept').toBe('{"shape":{"kind":"square","side":2}}');
  unionAt(form, 'shape').choose(-1);
  expect(form.json.value).toBe('{}');
});

test('JSON goes to the branch that it matches', () => {
  const form = new FormModel({
    oneOf: [
      object({ url: { type: 'string' } }, { required: ['url'] }),
      object({ path: { type: 'string' } }, { required: ['path'] }),
      object({ kind: { const: 'x' } }, { additionalProperties: { type: 'number' } }),
    ],
  });
  for (const [json, branch] of [
    ['{"path":"p"}', 1],
    ['{"url":"u"}', 0],
    ['{"kind":"x","n":1.0}', 2],
    ['{"foreign":1}', 2],
  ] as const) {
    form.load(json);
    expect([form.root.raw.value, unionAt(form).chosen.value]).toEqual([undefined, branch]);
    expect(form.json.value).toBe(json);
  }
});

test('alternatives that only say what is required are no choice', () => {
  const form = new FormModel(
    object({ a: { type: 'string' }, b: { type: 'string' } }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
  );
  expect(form.root.kind).toBe('object');
  expect(form.problems.value).not.toEqual([]);
});

test('the properties beside a choice belong to each branch', () => {
  const form = new FormModel(
    object(
      { common: { type: 'string' } },
      { oneOf: [object({ a: { type: 'number' } }), object({ b: { type: 'number' } })], required: ['common'] },
    ),
  );
  textAt(form, 'common').type('x');
  numberAt(form, 'a').type('1');
  expect(JSON.parse(form.json.value!)).toEqual({ a: 1, common: 'x' });
});

test('the schemas of allOf are joined', () => {
  const form = new FormModel({
    allOf: [{ $ref: '#/definitions/base' }, object({ b: { minimum: 1 } }, { required: ['b'] })],
    definitions: { base: object({ a: { type: 'string' }, b: { type: 'integer' } }, { required: ['a'] }) },
  });
  textAt(form, 'a').type('x');
  numberAt(form, 'b').type('0');
  expect(form.json.value).toBe('{"a":"x","b":0}');
  expect(problemsOf(form)).toEqual(['b must be >= 1']);
});

test('a schema that refers to itself has fields as deep as a person adds them', () => {
  const form = new FormModel({
    $ref: '#/$defs/node',
    $defs: {
      node: object(
        { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
        { required: ['name'] },
      ),
    },
  });
  textAt(form, 'name').type('root');
  listAt(form, 'children').add();
  textAt(form, 'children', '0', 'name').type('leaf');
  expect(form.json.value).toBe('{"name":"root","children":[{"name":"leaf"}]}');
});

test('rows are added, moved and removed', () => {
  const form = new FormModel({ type: 'array', items: { type: 'integer' } });
  const list = listAt(form);
  for (const typed of ['1', '2.0', '3']) (list.add() as NumberField).type(typed);
  const [first, second, third] = list.rows.value;
  list.move(third!, -1);
  expect(form.json.value).toBe('[1,3,2.0]');
  list.move(first!, -1);
  list.move(second!, 1);
  expect(form.json.value).toBe('[1,3,2.0]');
  expect(pathText(second!.path)).toBe('[2]');
  list.remove(first!);
  expect(form.json.value).toBe('[3,2.0]');
  list.add();
  expect(errorsOf(form)).toEqual(['[2] is empty']);
});

test.each([
  { prefixItems: [{ type: 'string' }, { type: 'number' }], items: { type: 'boolean' } },
  { items: [{ type: 'string' }, { type: 'number' }], additionalItems: { type: 'boolean' } },
])('%j is a tuple with rows after it', (schema) => {
  const form = new FormModel({ type: 'array', ...schema });
  expect(form.json.value).toBe('[]');
  numberAt(form, '1').type('1e2');
  expect(errorsOf(form)).toEqual(['[0] is empty, but a later item is not']);
  textAt(form, '0').type('a');
  expect(form.json.value).toBe('["a",1e2]');
  (listAt(form).add() as ChoiceField).choose(0);
  expect(form.json.value).toBe('["a",1e2,true]');
});

test('a map has names that a person writes, each once', () => {
  const form = new FormModel({ type: 'object', additionalProperties: { type: 'number' } });
  const map = objectAt(form);
  const one = map.addOwn('__proto__');
  (one.field as NumberField).type('1');
  const two = map.addOwn();
  (two.field as NumberField).type('2');
  expect(errorsOf(form)).toEqual([`[""] has no name`]);
  two.name.value = '__proto__';
  expect(errorsOf(form)[0]).toMatch(/has the name of another property$/);
  two.name.value = 'b"c';
  expect(form.json.value).toBe('{"__proto__":1,"b\\"c":2}');
  map.removeOwn(one);
  expect(form.json.value).toBe('{"b\\"c":2}');
});

test('a property that a person adds cannot repeat one of the schema', () => {
  const form = new FormModel(object({ a: { type: 'string' } }));
  objectAt(form).addOwn('a').field.typeRaw('1');
  expect(errorsOf(form)).toEqual(['a has the name of another property']);
});

test('an attempt to send returns nothing until the problems are accepted', () => {
  const form = new FormModel(object({ a: { type: 'integer' } }, { required: ['a'] }));
  expect(form.submit()).toBeUndefined();
  expect(form.attempted.value).toBe(true);
  expect(form.submit(true)).toBe('{}');
  numberAt(form, 'a').type('x');
  expect(form.submit(true), 'what is not JSON is never sent').toBeUndefined();
  numberAt(form, 'a').type('1');
  expect(form.submit()).toBe('{"a":1}');
});

test('any JSON can be sent where the schema says nothing, and as written', () => {
  const form = new FormModel(object({ a: true, b: {} }));
  at(form, 'a').typeRaw('{ "x" : [1.0,\n "a  b"] }');
  expect(form.json.value).toBe('{"a":{"x":[1.0,"a  b"]}}');
  at(form, 'b').typeRaw('{"x":');
  expect(form.json.value).toBeUndefined();
  expect(errorsOf(form)).toEqual(['b is not JSON: line 1, column 6: a JSON value is missing']);
});

test('fields become JSON text and fields again, with numbers as written', () => {
  const form = new FormModel(
    object({ n: { type: 'number' }, s: { type: 'string' }, list: { type: 'array', items: { type: 'number' } } }),
  );
  form.load('{"list":[1.0,2e3],"n":12345678901234567890,"s":""}');
  expect(form.json.value).toBe('{"n":12345678901234567890,"s":"","list":[1.0,2e3]}');
  form.root.showRaw();
  expect(form.root.raw.value).toBe(
    '{\n  "n": 12345678901234567890,\n  "s": "",\n  "list": [\n    1.0,\n    2e3\n  ]\n}',
  );
  form.root.showFields();
  expect(form.root.raw.value).toBeUndefined();
  expect(form.json.value).toBe('{"n":12345678901234567890,"s":"","list":[1.0,2e3]}');
});

test('a mistake stays in the JSON text as it was typed', () => {
  const form = new FormModel(object({ n: { type: 'number' } }));
  numberAt(form, 'n').type('1.');
  form.root.showRaw();
  expect(form.root.raw.value).toBe('{\n  "n": 1.\n}');
  form.root.showFields();
  expect(form.root.rawError.value).toBe('line 2, column 9: a comma or } is missing');
  expect(form.root.raw.value).toBe('{\n  "n": 1.\n}');
});

test.each([
  ['{"n":"1"}', 'n is not a number'],
  ['{"list":[{"a":1},7]}', 'list[1] is not an object'],
  ['{"list":[{"z":1}]}', 'list[0].z is not in the schema'],
  ['{"n":1,"n":2}', 'the value has two properties of the same name'],
  ['{"s":"a\\r\\n"}', 's has a carriage return, which no field can show'],
  ['{"e":"c"}', 'e is none of the values to choose from'],
  ['[]', 'the value is not an object'],
])('%s stays JSON text: %s', (json, reason) => {
  const form = new FormModel(
    object({
      n: { type: 'number' },
      s: { type: 'string' },
      e: { enum: ['a', 'b'] },
      list: { type: 'array', items: object({ a: {} }, { additionalProperties: false }) },
    }),
  );
  form.load(json);
  expect(form.root.rawError.value).toBe(reason);
  expect(form.root.raw.value).toBe(json);
  expect(form.json.value, 'and is sent as it is').toBe(json);
});

test('one field can be JSON text while the others stay', () => {
  const form = new FormModel(object({ a: { type: 'string' }, b: { type: 'integer' } }));
  textAt(form, 'a').type('x');
  numberAt(form, 'b').showRaw();
  numberAt(form, 'b').typeRaw('"wrong on purpose"');
  expect(form.json.value).toBe('{"a":"x","b":"wrong on purpose"}');
  expect(problemsOf(form)).toEqual(['b must be integer']);
});

test('a date that is not complete is not sent as nothing', () => {
  const form = new FormModel(object({ d: { type: 'string', format: 'date' } }));
  textAt(form, 'd').type('', true);
  expect(form.json.value).toBeUndefined();
  expect(errorsOf(form)).toEqual(['d is not complete']);
});

test('a schema that the check does not know still has fields, and says that nothing is checked', () => {
  const form = new FormModel(object({ n: { type: 'number', minimum: 0, exclusiveMinimum: true } }));
  expect(form.unchecked).toMatch(/exclusiveMinimum/);
  numberAt(form, 'n').type('-1');
  expect(form.json.value).toBe('{"n":-1}');
  expect(form.problems.value).toEqual([]);
});

test('keywords with values of another type are no reason to have no form', () => {
  const odd = { toString: 1, valueOf: 1 };
  const properties = { a: { type: [odd, 'string'] }, b: { type: 'string', maxLength: odd }, c: { type: 'number' } };
  const form = new FormModel({ type: 'object', properties });
  form.load('{"a":"x","b":"y","c":1}');
  expect(form.json.value).toBe('{"a":"x","b":"y","c":1}');
});
