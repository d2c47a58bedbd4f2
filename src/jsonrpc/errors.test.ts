import { expect, test } from 'vitest';
import { RpcError } from './errors.ts';

test('an RpcError stays unchanged', () => {
  const error = new RpcError(-32602, 'no', { data: { a: 1 } });
  expect(RpcError.from(error)).toBe(error);
  expect(error.toObject()).toEqual({ code: -32602, message: 'no', data: { a: 1 } });
});

test.each([
  [
    'an error with a code',
    Object.assign(new Error('m'), { code: -32002, data: 1 }),
    { code: -32002, message: 'm', data: 1 },
  ],
  [
    'an error of an SDK',
    Object.assign(new Error('m'), { name: 'McpError', code: -1, data: 1 }),
    { code: -1, message: 'm', data: 1 },
  ],
  [
    'an error of a database',
    Object.assign(new Error('m'), { code: 11000, data: 'secret' }),
    { code: -32603, message: 'm' },
  ],
  ['an error of HTTP', Object.assign(new Error('m'), { code: 404 }), { code: -32603, message: 'm' }],
  ['a system error', Object.assign(new Error('m'), { code: 'ENOENT', data: 1 }), { code: -32603, message: 'm' }],
  ['an error without a message', new TypeError(), { code: -32603, message: 'TypeError' }],
  ['an aborted fetch', AbortSignal.abort().reason, { code: -32603, message: 'This operation was aborted' }],
  ['a string', 'odd', { code: -32603, message: 'odd' }],
  ['nothing', undefined, { code: -32603, message: 'undefined' }],
])('%s becomes an error object', (_, thrown, object) => {
  const error = RpcError.from(thrown);
  expect(error.toObject()).toEqual(object);
  expect(error.cause).toBe(thrown);
});

test.each([
  ['no prototype', Object.create(null)],
  [
    'a toString that throws',
    {
      toString() {
        throw new Error('none');
      },
    },
  ],
])('a value thrown with %s is an internal error', (_, thrown: unknown) => {
  expect(RpcError.from(thrown)).toMatchObject({ code: -32603, message: 'Internal error' });
});

test.each([Number.NaN, 1.5, 'ENOENT', undefined])('the code %s is refused, because no peer would accept it', (code) => {
  expect(() => new RpcError(code as number, 'no such file')).toThrow(
    new TypeError(`The code of an RpcError must be an integer, not ${code}: no such file`),
  );
});
