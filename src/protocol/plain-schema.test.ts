import { expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { PlainSchema } from './plain-schema.ts';

const check = async (json: JsonObject, value: unknown) => new PlainSchema(json, 'The schema').validate(value);

test('the first check waits for the compiler, the next ones do not', async () => {
  const schema = new PlainSchema({ type: 'string' }, 'The schema');
  const first = schema.validate('x');
  expect(first).toBeInstanceOf(Promise);
  expect(await first).toEqual({ value: 'x' });
  expect(schema.validate('y')).toEqual({ value: 'y' });
});

test.each<[JsonObject, unknown, object]>([
  [{ required: ['a'] }, {}, { path: ['a'], message: 'is missing' }],
  [{ required: ['constructor'] }, {}, { path: ['constructor'], message: 'is missing' }],
  [{ properties: { a: {} }, additionalProperties: false }, { b: 1 }, { path: ['b'], message: 'is not expected' }],
  [{ properties: { a: {} }, unevaluatedProperties: false }, { b: 1 }, { path: ['b'], message: 'is not expected' }],
  [{ properties: { 'a/b': { enum: [1, 2] } } }, { 'a/b': 3 }, { path: ['a/b'], message: 'must be one of [1,2]' }],
  [{ items: { const: 1 } }, [1, 2], { path: ['1'], message: 'must be 1' }],
  [{ prefixItems: [{ type: 'string' }], items: false }, ['x', 1], { message: 'must NOT have more than 1 items' }],
  [{ $defs: { n: { minimum: 2 } }, $ref: '#/$defs/n' }, 1, { message: 'must be >= 2' }],
  [{ properties: { child: { $ref: '#' } }, required: ['n'] }, { n: 1, child: {} }, { path: ['child', 'n'] }],
])('%j refuses %j', async (json, value, issue) => {
  expect(await check(json, value)).toMatchObject({ issues: [issue] });
});

test('draft-07 is understood where $schema names it', async () => {
  const items = [{ type: 'string' }];
  const $schema = 'http://json-schema.org/draft-07/schema#';
  expect(await check({ $schema, items, additionalItems: false }, ['x', 1])).toHaveProperty('issues');
  expect(await check({ $schema, items }, ['x', 1])).toEqual({ value: ['x', 1] });
});

test('2020-12 may be named', async () => {
  expect(await check({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'null' }, null)).toEqual({
    value: null,
  });
});

test.each(['http://json-schema.org/draft-04/schema#', 'nonsense', 7])('dialect %j is refused', ($schema) => {
  expect(() => new PlainSchema({ $schema }, 'The schema')).toThrow(
    /^The schema has an unsupported dialect, .* \(supported: 2020-12, draft-07\)$/,
  );
});

test.each<JsonObject>([{ type: 'bogus' }, { required: 'a' }, { pattern: '(' }, { $ref: 'https://example.com/other' }])(
  '%j is not a schema, and says so each time',
  async (json) => {
    const schema = new PlainSchema(json, 'The schema');
    for (let round = 0; round < 2; round += 1) {
      await expect(schema.validate(1)).rejects.toMatchObject({
        code: -32603,
        message: expect.stringMatching(/^The schema is not valid: ./),
      });
    }
  },
);

test('two schemas may have the same $id', async () => {
  expect(await check({ $id: 'https://example.com/a', type: 'string' }, 1)).toHaveProperty('issues');
  expect(await check({ $id: 'https://example.com/a', type: 'number' }, 1)).toEqual({ value: 1 });
});

test('a hostile array is refused at its first mistake', async () => {
  const verdict = await check(
    { items: { type: 'string' } },
    Array.from({ length: 1_000_000 }, () => 1),
  );
  expect(verdict.issues).toHaveLength(1);
});
