import { describe, expect, test } from 'vitest';
import { printableLine } from '../base/printable.ts';
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

describe('parsing a message', () => {
  test('accepts text and bytes', () => {
    expect(parseJson('{"a":"ü"}')).toEqual({ a: 'ü' });
    expect(parseJson(Buffer.from('{"a":"ü"}'))).toEqual({ a: 'ü' });
    expect(parseJson(new TextEncoder().encode('x["ü"]').subarray(1))).toEqual(['ü']);
  });

  test.each(['', '{', 'undefined', "{'a':1}", '\ufeff{}', '{"a":1}{', 'NaN', '\u001b[31mlog'])(
    'fails with a parse error for %j',
    (text) => {
      const error = failure(() => parseJson(text));
      expect(error).toMatchObject({ code: -32700, id: undefined, failure: undefined, cause: expect.any(SyntaxError) });
      expect(error.message).toBe(`Parse error: not valid JSON (${printableLine((error.cause as Error).message)})`);
    },
  );

  test.each([[[0x22, 0xff, 0x22]], [[0x22, 0xc3, 0x22]], [[0x22, 0xed, 0xa0, 0x80, 0x22]]])(
    'refuses the bytes %j, which are not UTF-8',
    (bytes) => {
      const error = failure(() => parseJson(new Uint8Array(bytes)));
      expect(error).toMatchObject({ code: -32700, message: 'Parse error: not valid UTF-8' });
    },
  );

  const nested = (depth: number, inner = ''): string => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;
  const tooDeep = 'a message must not be nested deeper than 1000 values';

  test('accepts 1,000 levels, however many brackets the strings contain', () => {
    expect(parseJson(nested(1000))).toEqual(JSON.parse(nested(1000)));
    const text = JSON.stringify({ text: `${'['.repeat(5000)}\\"\\\\`, more: '\\' });
    expect(parseJson(text)).toEqual(JSON.parse(text));
    const wide = JSON.stringify(Array.from({ length: 5000 }, () => [[{}]]));
    expect(parseJson(wide)).toEqual(JSON.parse(wide));
  });

  test('refuses more levels with an error that has the id', () => {
    const deep = nested(40_000, '"]"');
    expect(failure(() => parseJson(deep))).toMatchObject({ code: -32600, id: undefined });
    const request = `{"jsonrpc":"2.0","id":7,"method":"a","params":{"a":${deep},"b":[${deep},1]}}`;
    expect(failure(() => parseJson(request))).toMatchObject({
      code: -32600,
      id: 7,
      message: `Invalid request: ${tooDeep}`,
    });
    const response = `{"jsonrpc":"2.0","result":{"a":${deep}},"id":7}`;
    const refused = failure(() => parseJson(response));
    expect(refused).toBeInstanceOf(InvalidResponse);
    expect(refused.failure).toMatchObject({ id: 7, error: { message: `Invalid response: ${tooDeep}` } });
    expect(failure(() => parseJson('['.repeat(150_000)))).toMatchObject({ code: -32700 });
  });
});

describe('a message of very many keys and values', () => {
  const many = `[${'{},'.repeat(200_000)}${' '.repeat(500_000)}{}]`;
  const tooMany = 'a message must not have more than 200000 keys and values';

  test('is refused with an error that has its id, without being parsed', () => {
    const request = `{"jsonrpc":"2.0","id":7,"method":"a","params":{"a":${many}}}`;
    expect(failure(() => parseJson(request))).toMatchObject({
      code: -32600,
      id: 7,
      message: `Invalid request: ${tooMany}`,
    });
    const refused = failure(() => parseJson(`{"jsonrpc":"2.0","result":{"a":${many}},"id":"x \\" [{"}`));
    expect(refused.failure).toMatchObject({ id: 'x " [{', error: { message: `Invalid response: ${tooMany}` } });
  });

  test.each([many, `{"a":{}${',"a":{}'.repeat(100_000)},"id":7,"method":"a"}`])(
    'is refused with an error without an id if the id is not near its start: %#',
    (text) => {
      const error = failure(() => parseJson(text));
      expect(error).toMatchObject({ code: -32600, id: undefined, message: `Invalid request: ${tooMany}` });
    },
  );

  test('is read up to 200,000', () => {
    const numbers = (count: number): string => `[${'1,'.repeat(count - 1)}1]`;
    expect(parseJson(numbers(199_999))).toHaveLength(199_999);
    expect(failure(() => parseJson(numbers(200_000)))).toMatchObject({ code: -32600, id: undefined });
    const members = (count: number): string => `{${'"a":1,'.repeat(count - 1)}"b":2}`;
    expect(parseJson(members(99_999))).toEqual({ a: 1, b: 2 });
    expect(failure(() => parseJson(members(100_000)))).toMatchObject({ code: -32600, id: undefined });
  });

  test('may have 200,000 unpaired surrogates in its strings, which take long to write, and as many pairs as fit', () => {
    const message = (text: string): string => `{"jsonrpc":"2.0","id":7,"result":{"text":"${text}"}}`;
    const most = message('\\ud800'.repeat(200_000));
    expect(parseJson(most)).toEqual(JSON.parse(most));
    const refused = failure(() => parseJson(message('\\ud800'.repeat(200_001))));
    expect(refused.failure).toMatchObject({
      id: 7,
      error: { message: 'Invalid response: a message must not have more than 200000 unpaired surrogates' },
    });
    const pairs = message('\\ud83d\\ude00'.repeat(200_001));
    expect(parseJson(pairs)).toEqual(JSON.parse(pairs));
  });

  test('may have 50,000 long numbers, which take long to write, and as many others as fit', () => {
    const message = (numbers: string): string => `{"jsonrpc":"2.0","id":7,"result":{"numbers":[${numbers}0]}}`;
    const most = message('1e-300,'.repeat(50_000));
    expect(parseJson(most)).toEqual(JSON.parse(most));
    const refused = failure(() => parseJson(message('1e-300,'.repeat(50_001))));
    expect(refused.failure).toMatchObject({
      id: 7,
      error: {
        message:
          'Invalid response: a message must not have more than 50000 numbers with more than 32 characters or with three digits in the exponent',
      },
    });
    const others = message('1e-99,'.repeat(150_000));
    expect(parseJson(others)).toEqual(JSON.parse(others));
  });

  test('may have any characters in its strings', () => {
    const text = JSON.stringify({ text: '[{,"'.repeat(300_000) });
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });
});

describe('what counts as a message', () => {
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
  ])('%j is accepted unchanged', (message) => {
    expect(checkMessage(message)).toBe(message);
  });

  test('an error response with a null id becomes one without an id', () => {
    const error = { code: -32700, message: 'Parse error' };
    expect(checkMessage({ jsonrpc: '2.0', id: null, error })).toEqual({ jsonrpc: '2.0', error });
  });

  const id = '"id" must be a string or an integer below 2^53';
  const kind = 'a message needs a "method", or exactly one of "result" and "error"';

  test.each<[unknown, unknown, string]>([
    [null, undefined, 'a message must be a JSON object'],
    [[], undefined, 'a message must be a JSON object'],
    ['text', undefined, 'a message must be a JSON object'],
    [{}, undefined, '"jsonrpc" must be "2.0"'],
    [{ id: 1, method: 'x' }, 1, '"jsonrpc" must be "2.0"'],
    [{ jsonrpc: 2.0, id: 1, method: 'x' }, 1, '"jsonrpc" must be "2.0"'],
    [{ jsonrpc: '2.0', id: null, method: 'x' }, undefined, id],
    [{ jsonrpc: '2.0', id: null, method: 'x', error: { code: 1, message: '' } }, undefined, id],
    [{ jsonrpc: '2.0', id: 1.5, method: 'x' }, undefined, id],
    [{ jsonrpc: '2.0', id: Infinity, method: 'x' }, undefined, id],
    [{ jsonrpc: '2.0', id: 2 ** 53, method: 'x' }, undefined, id],
    [{ jsonrpc: '2.0', id: true, method: 'x' }, undefined, id],
    [{ jsonrpc: '2.0', id: {}, method: 'x' }, undefined, id],
    [{ jsonrpc: '2.0', id: 1, method: 5 }, 1, '"method" must be a string'],
    [{ jsonrpc: '2.0', id: 1, method: 5, result: {} }, 1, '"method" must be a string'],
    [{ jsonrpc: '2.0', id: 1, method: null }, 1, '"method" must be a string'],
    [{ jsonrpc: '2.0', id: 1, method: 'x', params: [] }, 1, '"params" must be an object'],
    [{ jsonrpc: '2.0', id: 1, method: 'x', params: null }, 1, '"params" must be an object'],
    [{ jsonrpc: '2.0', id: 'a' }, 'a', kind],
  ])('%j is invalid, and the error response has the id %j', (value, under, why) => {
    const error = failure(() => checkMessage(value));
    expect(error).not.toBeInstanceOf(InvalidResponse);
    expect(error).toMatchObject({ code: -32600, id: under, message: `Invalid request: ${why}` });
  });

  test('params, result and the metadata in them have at most 1000 members', () => {
    const members = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, 1]));
    for (const most of [members(1000), { _meta: members(1000) }, { a: members(5000) }]) {
      checkMessage({ jsonrpc: '2.0', id: 1, method: 'a', params: most });
      checkMessage({ jsonrpc: '2.0', id: 1, result: most });
    }
    const why = (name: string): string => `"${name}" and its "_meta" may not have more than 1000 members each`;
    for (const tooMany of [members(1001), { _meta: members(1001) }]) {
      const request = failure(() => checkMessage({ jsonrpc: '2.0', id: 1, method: 'a', params: tooMany }));
      expect(request).toMatchObject({ id: 1, message: `Invalid request: ${why('params')}` });
      const { failure: failed } = failure(() => checkMessage({ jsonrpc: '2.0', id: 1, result: tooMany }));
      expect(failed).toMatchObject({ id: 1, error: { message: `Invalid response: ${why('result')}` } });
    }
  });

  test('a message that may be a request or a response can be delivered as a failed response', () => {
    const { failure: failed } = failure(() => checkMessage({ jsonrpc: '2.0', id: 'a' }));
    expect(failed).toEqual({ jsonrpc: '2.0', id: 'a', error: { code: -32600, message: `Invalid response: ${kind}` } });
    expect(failure(() => checkMessage({ jsonrpc: '2.0' })).failure).toBeUndefined();
    expect(failure(() => checkMessage({ jsonrpc: '2.0', id: 1, method: 5 })).failure).toBeUndefined();
  });

  const shape = '"error" must have an integer "code" and a string "message"';

  test.each<[unknown, unknown, string]>([
    [{ jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: '' } }, 1, kind],
    [{ jsonrpc: '2.0', result: {} }, undefined, 'a result must carry the "id" of its request'],
    [{ jsonrpc: '2.0', id: 1, result: null }, 1, '"result" must be an object'],
    [{ jsonrpc: '2.0', id: 1, result: [] }, 1, '"result" must be an object'],
    [{ jsonrpc: '2.0', id: 1, error: 'text' }, 1, shape],
    [{ jsonrpc: '2.0', id: 1, error: { code: '1', message: '' } }, 1, shape],
    [{ jsonrpc: '2.0', id: 1, error: { code: 1.5, message: '' } }, 1, shape],
    [{ jsonrpc: '2.0', id: 1, error: { code: 1 } }, 1, shape],
    [{ jsonrpc: '2.0', id: null, result: {} }, undefined, id],
    [{ jsonrpc: '2.0', id: null, error: 'text' }, undefined, id],
    [{ jsonrpc: '2.0', id: {}, error: { code: 1, message: '' } }, undefined, id],
    [{ id: 'a', result: {} }, 'a', '"jsonrpc" must be "2.0"'],
  ])('%j is an invalid response, and fails the pending request with id %j', (value, under, why) => {
    const error = failure(() => checkMessage(value));
    expect(error).toBeInstanceOf(InvalidResponse);
    // An error response with this id would look like the response to a request of the peer.
    expect(error).toMatchObject({ code: -32600, id: undefined, message: `Invalid response: ${why}` });
    const failed = { jsonrpc: '2.0', id: under, error: { code: -32600, message: error.message } };
    expect(error.failure).toEqual(under === undefined ? undefined : failed);
  });
});
