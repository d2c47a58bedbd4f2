import { describe, expect, test } from 'vitest';
import { InvalidMessage, InvalidResponse, checkMessage, parseJson } from './parse.ts';

function failure(run: () => unknown): InvalidMessage {
  try {
    run();
  } catch (error) {
    if (error instanceof InvalidMessage) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('parsing', () => {
  test('text and bytes', () => {
    expect(parseJson('{"a":"ü"}')).toEqual({ a: 'ü' });
    expect(parseJson(Buffer.from('{"a":"ü"}'))).toEqual({ a: 'ü' });
    expect(parseJson(new TextEncoder().encode('x["ü"]').subarray(1))).toEqual(['ü']);
  });

  test.each(['', '{', 'undefined', "{'a':1}", '\ufeff{}', '{"a":1}{', 'NaN'])('%j is a parse error', (text) => {
    expect(failure(() => parseJson(text))).toMatchObject({ code: -32700, id: undefined });
  });

  test.each([[[0x22, 0xff, 0x22]], [[0x22, 0xc3, 0x22]], [[0x22, 0xed, 0xa0, 0x80, 0x22]]])(
    'bytes %j are no UTF-8',
    (bytes) => {
      expect(failure(() => parseJson(new Uint8Array(bytes)))).toMatchObject({ code: -32700 });
    },
  );

  test('what is nested deeply is read', () => {
    expect(() => parseJson('['.repeat(5000) + ']'.repeat(5000))).not.toThrow();
  });
});

describe('what is a message', () => {
  test.each([
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 0, method: 'ping', params: {} },
    { jsonrpc: '2.0', id: -1, method: 'ping' },
    { jsonrpc: '2.0', id: '', method: 'ping' },
    { jsonrpc: '2.0', id: 'x', method: '' },
    { jsonrpc: '2.0', method: 'notifications/x', params: { a: [1] } },
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 1, error: { code: -1, message: '' } },
    { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'm', data: null } },
    { jsonrpc: '2.0', error: { code: -1, message: 'm' } },
    { jsonrpc: '2.0', id: 1, method: 'x', unheard: 'of' },
  ])('%j is taken as it is', (message) => {
    expect(checkMessage(message)).toBe(message);
  });

  test('an error response with a null id is one without', () => {
    const error = { code: -32700, message: 'Parse error' };
    expect(checkMessage({ jsonrpc: '2.0', id: null, error })).toEqual({ jsonrpc: '2.0', error });
  });

  test.each([
    [null, undefined],
    [[], undefined],
    ['text', undefined],
    [{}, undefined],
    [{ id: 1, method: 'x' }, 1],
    [{ jsonrpc: 2.0, id: 1, method: 'x' }, 1],
    [{ jsonrpc: '2.0', id: null, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: 1.5, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: Infinity, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: 2 ** 53, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: true, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: {}, method: 'x' }, undefined],
    [{ jsonrpc: '2.0', id: 1, method: 5 }, 1],
    [{ jsonrpc: '2.0', id: 1, method: null }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'x', params: [] }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'x', params: null }, 1],
    [{ jsonrpc: '2.0', id: 'a' }, 'a'],
  ])('%j is invalid, and answered under id %j', (value, id) => {
    const error = failure(() => checkMessage(value));
    expect(error.code).toBe(-32600);
    expect(error.id).toBe(id);
  });

  test.each([
    [{ jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: '' } }, 1],
    [{ jsonrpc: '2.0', result: {} }, undefined],
    [{ jsonrpc: '2.0', id: 1, result: null }, 1],
    [{ jsonrpc: '2.0', id: 1, result: [] }, 1],
    [{ jsonrpc: '2.0', id: 1, error: 'text' }, 1],
    [{ jsonrpc: '2.0', id: 1, error: { code: '1', message: '' } }, 1],
    [{ jsonrpc: '2.0', id: 1, error: { code: 1.5, message: '' } }, 1],
    [{ jsonrpc: '2.0', id: 1, error: { code: 1 } }, 1],
    [{ jsonrpc: '2.0', id: null, result: {} }, undefined],
    [{ id: 'a', result: {} }, 'a'],
  ])('%j is no response, and fails what waits under id %j', (value, id) => {
    const error = failure(() => checkMessage(value));
    expect(error).toBeInstanceOf(InvalidResponse);
    // Under the id an answer would be taken for that to a request of the peer's own.
    expect(error).toMatchObject({ code: -32600, id: undefined, message: expect.stringMatching(/^Invalid response: /) });
    const failed = { jsonrpc: '2.0', id, error: { code: -32600, message: error.message } };
    expect(error.failure).toEqual(id === undefined ? undefined : failed);
  });
});
