import { describe, expect, test } from 'vitest';
import { MalformedResponse, ResponseParser } from './response-parser.ts';

const ok = 'HTTP/1.1 200 OK\r\n';

interface Read {
  readonly status: number;
  readonly headers: Record<string, string>;
  body: string;
  complete: boolean;
}

/** Reads responses that come in pieces. At `undefined` the server closes the connection. */
function read(pieces: readonly (string | undefined)[], limit = 1024): { responses: Read[]; parser: ResponseParser } {
  const responses: Read[] = [];
  const parser = new ResponseParser(limit, {
    onhead: (status, headers) =>
      void responses.push({ status, headers: Object.fromEntries(headers), body: '', complete: false }),
    ondata: (bytes) => {
      expect(bytes.length).toBeGreaterThan(0);
      responses.at(-1)!.body += Buffer.from(bytes).toString('latin1');
    },
    onend: () => void (responses.at(-1)!.complete = true),
  });
  for (const piece of pieces) {
    if (piece === undefined) parser.end();
    else parser.push(Buffer.from(piece, 'latin1'));
  }
  return { responses, parser };
}

const valid: Record<string, [text: string, status: number, body: string, keepsOpen: boolean]> = {
  'a length': ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', 200, 'hello', true],
  'an empty body': ['HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n', 202, '', true],
  'no reason': ['HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n', 200, '', true],
  'no space after the status': ['HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', 200, '', true],
  chunks: ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', 200, 'abcde', true],
  'chunks with extensions and trailers': [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0A ;a="b\xe4"\r\n0123456789\r\n0\r\nx-a: 1\r\n\r\n',
    200,
    '0123456789',
    true,
  ],
  'no body by its status': ['HTTP/1.1 204 No Content\r\nx-a: b\r\n\r\n', 204, '', true],
  'no body in spite of a length': ['HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n', 304, '', true],
  'no body in spite of chunks': ['HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n', 304, '', true],
  'no content in spite of chunks': ['HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n', 204, '', true],
  'a body that is larger than a head may be': [
    `HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n${'a'.repeat(2000)}`,
    200,
    'a'.repeat(2000),
    true,
  ],
  'chunks that are larger than a head may be': [
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7d0\r\n${'a'.repeat(2000)}\r\n7d0\r\n${'b'.repeat(2000)}\r\n0\r\n\r\n`,
    200,
    'a'.repeat(2000) + 'b'.repeat(2000),
    true,
  ],
  'interim responses': [
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na',
    200,
    'a',
    true,
  ],
  'the last response': ['HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 1\r\n\r\na', 200, 'a', false],
  'HTTP/1.0': ['HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na', 200, 'a', false],
  'HTTP/1.0 with keep-alive': [
    'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\na',
    200,
    'a',
    true,
  ],
};

describe.each(Object.entries(valid))('%s', (_, [text, status, body, keepsOpen]) => {
  test.each([1, 2, 3, 7, text.length])('in pieces of %d bytes', (size) => {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_piece, at) =>
      text.slice(at * size, (at + 1) * size),
    );
    const { responses, parser } = read(pieces);
    expect(responses).toMatchObject([{ status, body, complete: true }]);
    expect(parser.keepsOpen).toBe(keepsOpen);
  });
});

test('a body without a length ends with the connection', () => {
  const { responses, parser } = read(['HTTP/1.1 200 OK\r\n\r\nab', 'cd', undefined]);
  expect(responses).toEqual([{ status: 200, headers: {}, body: 'abcd', complete: true }]);
  expect(parser.keepsOpen).toBe(false);
});

test('a chunk that begins with the end of the previous one may be larger than a head', () => {
  const pieces = [`${ok}transfer-encoding: chunked\r\n\r\n1\r\na`, `\r\n7d0\r\n${'b'.repeat(2000)}`];
  expect(read(pieces).responses).toMatchObject([{ body: `a${'b'.repeat(2000)}` }]);
});

test('the size of a chunk may have 13 digits', () => {
  expect(read([`${ok}transfer-encoding: chunked\r\n\r\n${'1'.padStart(13, '0')}\r\na`]).responses).toMatchObject([
    { body: 'a' },
  ]);
});

test('a connection can carry a request before it has carried a response', () => {
  expect(read([]).parser.keepsOpen).toBe(true);
});

test('several responses come one after the other', () => {
  const one = 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n';
  expect(read([`${one}a`, `${one}b`]).responses.map(({ body }) => body)).toEqual(['a', 'b']);
});

test.each([
  ['with a length', 'content-length: 1\r\n\r\na', 'a'],
  ['without a body', 'content-length: 0\r\n\r\n', ''],
  ['in chunks', 'transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n', 'a'],
])('what follows a response %s is not read, and the connection carries no other request', (_, rest, expected) => {
  const { responses, parser } = read([`${ok}${rest}${ok}${rest}`]);
  expect(responses.map(({ body }) => body)).toEqual([expected]);
  expect(parser.keepsOpen).toBe(false);
});

test('header names are in lower case, and their values are joined, except those that can have only one', () => {
  const lines = [
    'X-A:1',
    'x-a:\t2 \t',
    'Content-Type: text/plain',
    'content-type: text/html',
    'location: /a',
    'location: /b',
    'retry-after: 1',
    'retry-after: 2',
    '__proto__: x',
    'x-b: \xe4\xa0 ',
    'x-c:',
    'x-d: \t ',
  ];
  const { headers } = read([`HTTP/1.1 204 No\r\n${lines.join('\r\n')}\r\n\r\n`]).responses[0]!;
  expect(Object.entries(headers)).toEqual([
    ['x-a', '1, 2'],
    ['content-type', 'text/plain'],
    ['location', '/a'],
    ['retry-after', '1'],
    ['__proto__', 'x'],
    ['x-b', '\xe4\xa0'],
    ['x-c', ''],
    ['x-d', ''],
  ]);
});

test.each<[string, string]>([
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['an alert of TLS', '\x15\x03\x01\0\x02\x02\x16'],
  ['something before the status line', ' HTTP/1.1 200 OK\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n'],
  ['lines without a carriage return', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n\r\n\r\n'],
  ['a head without carriage returns that ends there', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n'],
  ['a chunk without carriage returns', `${ok}transfer-encoding: chunked\r\n\r\n2\nab\n0\n\n`],
  ['a line feed after a chunk', `${ok}transfer-encoding: chunked\r\n\r\n2\r\nab\n`],
  ['a carriage return alone', `${ok}x-a: a\rb\r\n\r\n`],
  ['a NUL in a header', `${ok}x-a: a\0b\r\n\r\n`],
  ['a header without a name', `${ok}: a\r\n\r\n`],
  ['a space before the colon', `${ok}content-length : 5\r\n\r\nhello`],
  ['a continued header line', `${ok}x-a: a\r\n b\r\n\r\n`],
  ['a line without a colon', `${ok}nonsense\r\n\r\n`],
  ['two different lengths', `${ok}content-length: 5\r\ncontent-length: 6\r\n\r\nhello!`],
  ['a negative length', `${ok}content-length: -1\r\n\r\n`],
  ['a length with a sign', `${ok}content-length: +5\r\n\r\nhello`],
  ['a length in hexadecimal', `${ok}content-length: 0x5\r\n\r\nhello`],
  ['a length that is too large for a number', `${ok}content-length: 9999999999999999\r\n\r\n`],
  ['a length and chunks', `${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a length after a no-break space', `${ok}content-length: \xa05\r\n\r\nhello`],
  ['chunks before a no-break space', `${ok}transfer-encoding: chunked\xa0\r\n\r\n0\r\n\r\n`],
  ['another coding', `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a chunk without a size', `${ok}transfer-encoding: chunked\r\n\r\n\r\nabc\r\n0\r\n\r\n`],
  ['the last chunk without a size', `${ok}transfer-encoding: chunked\r\n\r\n\r\n\r\n`],
  ['a chunk size with other characters', `${ok}transfer-encoding: chunked\r\n\r\n1@\r\na\r\n0\r\n\r\n`],
  ['a chunk size that ends with something else', `${ok}transfer-encoding: chunked\r\n\r\n1x\na\r\n0\r\n\r\n`],
  ['a chunk size after something else', `${ok}transfer-encoding: chunked\r\n\r\nx1;a\r\na\r\n0\r\n\r\n`],
  ['a control character after a chunk size', `${ok}transfer-encoding: chunked\r\n\r\n1;a\0\r\na\r\n0\r\n\r\n`],
  ['a chunk size with a sign', `${ok}transfer-encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n`],
  ['a chunk size above 2^52', `${ok}transfer-encoding: chunked\r\n\r\n10000000000000\r\nabc`],
  ['a chunk that is longer than its size', `${ok}transfer-encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n`],
  ['a switch to another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n'],
])('%s is refused', (_, text) => {
  expect(() => read([text])).toThrow(MalformedResponse);
  expect(() => read(Array.from(text))).toThrow(MalformedResponse);
});

test.each<[string, string]>([
  ['its head is not HTTP/1.1', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['its head is not HTTP/1.1', `${ok}nonsense\r\n\r\n`],
  ['a line ends with a line feed only', 'HTTP/1.1 200 OK\n'],
  ['it switches to another protocol, although nobody asked for it', 'HTTP/1.1 101 Switching\r\n\r\n'],
  ['its headers disagree about how the body is sent', `${ok}transfer-encoding: gzip\r\n\r\n`],
  ['its Content-Length is not one number', `${ok}content-length: x\r\n\r\n`],
  ['a chunk is longer than its size', `${ok}transfer-encoding: chunked\r\n\r\n1\r\nab\r\n`],
  ['the size of a chunk is not a number', `${ok}transfer-encoding: chunked\r\n\r\nx\r\n`],
])('an error says why: %s', (why, text) => {
  const message = `the response is not valid HTTP/1.1: ${why}`;
  expect(() => read([text])).toThrow(expect.objectContaining({ name: 'MalformedResponse', message }));
});

test.each([
  ['a head', (size: number) => `${ok}x: ${'a'.repeat(size - ok.length - 3)}\r\n\r\n`],
  ['trailers', (size: number) => `${ok}transfer-encoding: chunked\r\n\r\n0\r\nx: ${'a'.repeat(size - 3)}\r\n\r\n`],
])('%s may be as large as the limit', (_, text) => {
  expect(read([text(1024)]).responses).toHaveLength(1);
  expect(() => read([text(1025)])).toThrow(/larger than 1024 bytes/);
});

test.each<[string, string]>([
  ['a head', `${ok}x-a: ${'a'.repeat(1100)}`],
  ['a head that has come whole', `${ok}x-a: ${'a'.repeat(1100)}\r\n\r\n`],
  ["the line with a chunk's size", `${ok}transfer-encoding: chunked\r\n\r\n3;${'a'.repeat(1100)}`],
  ['a trailer', `${ok}transfer-encoding: chunked\r\n\r\n0\r\nx-a: ${'a'.repeat(1100)}`],
  ['all trailers', `${ok}transfer-encoding: chunked\r\n\r\n0\r\n${'x-a: a\r\n'.repeat(200)}`],
])('%s above the limit is refused', (_, text) => {
  expect(() => read([text])).toThrow(/larger than 1024 bytes/);
  expect(() => read(Array.from(text))).toThrow(/larger than 1024 bytes/);
});

test.each([
  ['before a response', []],
  ['within a head', ['HTTP/1.1 200 OK\r\n']],
  ['within a body', [`${ok}content-length: 5\r\n\r\nhell`]],
  ['before the last chunk', [`${ok}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n`]],
  ['within the trailers', [`${ok}transfer-encoding: chunked\r\n\r\n0\r\n`]],
])('a connection that ends %s', (_, pieces) => {
  const error = { name: 'ClosedEarly', message: 'the server closed the connection' };
  expect(() => read([...pieces, undefined])).toThrow(expect.objectContaining(error));
});
