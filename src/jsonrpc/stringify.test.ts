import { expect, test } from 'vitest';
import { errorResponse, notification, resultResponse } from './message.ts';
import { constant, encode, encodeBatch, isConstant, stringify, stringifyBatch } from './stringify.ts';

test('a message is written as JSON', () => {
  for (const message of [
    resultResponse('a', { x: 1 }),
    notification('n'),
    errorResponse(1, { code: 1, message: '"' }),
  ]) {
    expect(stringify(message)).toBe(JSON.stringify(message));
  }
});

test('a constant result is serialized once, and reused for any id', () => {
  let read = 0;
  const result = constant({
    get tools() {
      read += 1;
      return ['a "quoted" name'];
    },
  });
  expect(isConstant(result)).toBe(true);
  expect(isConstant({})).toBe(false);
  for (const id of [1, 'two "2"']) {
    expect(JSON.parse(stringify(resultResponse(id, result)))).toEqual({
      jsonrpc: '2.0',
      id,
      result: { tools: ['a "quoted" name'] },
    });
  }
  expect(read).toBe(1);
});

test('a constant result in a notification is serialized once, and reused with any other parameters', () => {
  let read = 0;
  const result = constant({
    get content() {
      read += 1;
      return ['é"'];
    },
  });
  for (const id of ['a', 'b']) {
    const params = { taskId: id, result, _meta: { id } };
    const text = stringify({ ...notification('notifications/tasks'), params });
    expect(JSON.parse(text)).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tasks',
      params: { taskId: id, result: { content: ['é"'] }, _meta: { id } },
    });
  }
  expect(read).toBe(1);
  for (const params of [{ result: { a: 1 } }, { result: 1 }]) {
    expect(JSON.parse(stringify(notification('n', params)))).toEqual({ jsonrpc: '2.0', method: 'n', params });
  }
});

test('a constant cannot be changed', () => {
  const result = constant<{ a: number }>({ a: 1 });
  expect(() => (result.a = 2)).toThrow(TypeError);
});

test('a large constant is copied as bytes', () => {
  const result = constant({ text: 'é'.repeat(5000) });
  const message = resultResponse('"x"', result);
  const parts = encode(message);
  expect(Buffer.concat(parts as Uint8Array[]).toString()).toBe(JSON.stringify(message));
  expect(stringify(message)).toBe(JSON.stringify(message));
  expect(encode(resultResponse(1, constant({ small: true })))).toBe('{"jsonrpc":"2.0","id":1,"result":{"small":true}}');
  expect(encode(notification('n'))).toBe('{"jsonrpc":"2.0","method":"n"}');
});

test('a batch is written as one JSON array, in text or in parts', () => {
  const text = (body: string | readonly Uint8Array[]): string =>
    typeof body === 'string' ? body : Buffer.concat(body).toString();
  const large = constant({ text: 'é'.repeat(4096) });
  const other = resultResponse('a', { x: '"é"' });
  for (const batch of [
    [],
    [other],
    [other, other],
    [resultResponse(1, large)],
    [other, resultResponse(1, large), other],
  ]) {
    expect(stringifyBatch(batch)).toBe(JSON.stringify(batch));
    expect(text(encodeBatch(batch))).toBe(JSON.stringify(batch));
  }
  const [first, second] = [resultResponse(1, large), resultResponse(2, large)].map((one) => encode(one)[1]);
  expect(first).toBe(second);
  const parts = encodeBatch([resultResponse(1, large), resultResponse(2, large)]) as readonly Uint8Array[];
  expect(parts.filter((part) => part === first)).toHaveLength(2);
});
