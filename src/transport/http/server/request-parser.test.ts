import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { garbageCollector } from '../../../../test/support/garbage-collector.ts';
import { MalformedRequest, RequestParser } from './request-parser.ts';

interface Read {
  readonly method: string;
  readonly target: string;
  readonly headers: Record<string, string>;
  readonly keepsOpen: boolean;
  readonly http11: boolean;
  body: string;
  complete: boolean;
}

/** Reads requests that come in pieces, each one as far as it is complete. */
function read(pieces: readonly string[], limit = 1024): { requests: Read[]; parser: RequestParser } {
  const requests: Read[] = [];
  const parser = new RequestParser(limit, {
    onhead: ({ headers, ...head }) =>
      void requests.push({ ...head, headers: Object.fromEntries(headers), body: '', complete: false }),
    ondata: (bytes) => {
      expect(bytes.length).toBeGreaterThan(0);
      requests.at(-1)!.body += Buffer.from(bytes).toString('latin1');
    },
    onend: () => void (requests.at(-1)!.complete = true),
  });
  for (const piece of pieces) {
    for (let rest: Buffer = Buffer.from(piece, 'latin1'); rest.length > 0;) rest = parser.push(rest);
  }
  return { requests, parser };
}

const HOST = 'host: localhost\r\n';
const valid: Record<string, [text: string, method: string, target: string, body: string, keepsOpen: boolean]> = {
  'no body': [`GET /a?b HTTP/1.1\r\n${HOST}\r\n`, 'GET', '/a?b', '', true],
  'no headers': ['GET / HTTP/1.0\r\n\r\n', 'GET', '/', '', false],
  'a length': [`POST / HTTP/1.1\r\n${HOST}content-length: 5\r\n\r\nhello`, 'POST', '/', 'hello', true],
  'a length of zero': [`POST / HTTP/1.1\r\n${HOST}content-length: 0\r\n\r\n`, 'POST', '/', '', true],
  chunks: [
    `POST / HTTP/1.1\r\n${HOST}transfer-encoding: Chunked\r\n\r\n3;x="y"\r\nabc\r\n2\r\nde\r\n0\r\nx-a: b\r\n\r\n`,
    'POST',
    '/',
    'abcde',
    true,
  ],
  'an empty line in front': [`\r\nGET / HTTP/1.1\r\n${HOST}\r\n`, 'GET', '/', '', true],
  'another method': [`M-SEARCH * HTTP/1.1\r\n${HOST}\r\n`, 'M-SEARCH', '*', '', true],
  'an absolute target': [`GET http://a.example/ HTTP/1.1\r\n${HOST}\r\n`, 'GET', 'http://a.example/', '', true],
  'a target that is not ASCII': [`GET /\xfc HTTP/1.1\r\n${HOST}\r\n`, 'GET', '/\xfc', '', true],
  'the last request': [`GET / HTTP/1.1\r\n${HOST}Connection: x, Close\r\n\r\n`, 'GET', '/', '', false],
  'HTTP/1.0 with keep-alive': ['GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n', 'GET', '/', '', true],
};

describe.each(Object.entries(valid))('a request with %s', (_, [text, method, target, body, keepsOpen]) => {
  test.each([1, 2, 3, 7, text.length])('in pieces of %d bytes', (size) => {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_piece, at) =>
      text.slice(at * size, (at + 1) * size),
    );
    const { requests, parser } = read(pieces);
    expect(requests).toMatchObject([{ method, target, body, keepsOpen, complete: true }]);
    expect(parser.inHead).toBe(false);
  });
});

test('requests in one piece are read one by one', () => {
  const one = `POST /1 HTTP/1.1\r\n${HOST}content-length: 2\r\n\r\nab`;
  const two = `GET /2 HTTP/1.1\r\n${HOST}\r\n`;
  const targets: string[] = [];
  const parser = new RequestParser(1024, {
    onhead: ({ target }) => void targets.push(target),
    ondata: () => void targets.push('data'),
    onend: () => void targets.push('end'),
  });
  const afterHead = parser.push(Buffer.from(one + two));
  expect([targets, afterHead.toString()]).toEqual([['/1'], `ab${two}`]);
  const afterBody = parser.push(afterHead);
  expect([targets, afterBody.toString()]).toEqual([['/1', 'data', 'end'], two]);
  expect(parser.push(afterBody)).toHaveLength(0);
  expect(targets).toEqual(['/1', 'data', 'end', '/2', 'end']);
});

test('headers are read by name, without the space around their values; repeated ones are joined', () => {
  const head =
    'GET / HTTP/1.1\r\nHost: a\r\nX-A: \t b c\t \r\nx-a:d\r\nX-Empty:\r\nContent-Type: 1\r\ncontent-type: 2\r\n\r\n';
  expect(read([head]).requests[0]).toMatchObject({
    headers: { host: 'a', 'x-a': 'b c, d', 'x-empty': '', 'content-type': '1, 2' },
    http11: true,
  });
});

test('whether the beginning of a head has come can be seen', () => {
  const { parser } = read(['GET / HT']);
  expect(parser.inHead).toBe(true);
  expect(read([`POST / HTTP/1.1\r\n${HOST}content-length: 1\r\n\r\n`]).parser.inHead).toBe(false);
});

const refused: Record<string, [text: string, why: string, status?: number]> = {
  'another protocol': ['\x16\x03\x01\x02', 'its head is not HTTP/1.1'],
  'no version': ['GET /\r\n\r\n', 'its head is not HTTP/1.1'],
  'another version': ['GET / HTTP/2.0\r\n\r\n', 'its head is not HTTP/1.1'],
  'a later minor version': ['GET / HTTP/1.2\r\n\r\n', 'its head is not HTTP/1.1'],
  'two spaces': ['GET  / HTTP/1.1\r\n\r\n', 'its head is not HTTP/1.1'],
  'a space in the target': ['GET /a b HTTP/1.1\r\n\r\n', 'its head is not HTTP/1.1'],
  'a control character in the target': ['GET /\x7f HTTP/1.1\r\n\r\n', 'its head is not HTTP/1.1'],
  'a space before the colon': ['GET / HTTP/1.1\r\nhost : a\r\n\r\n', 'its head is not HTTP/1.1'],
  'a folded line': ['GET / HTTP/1.1\r\nhost: a\r\n b\r\n\r\n', 'its head is not HTTP/1.1'],
  'a header without a name': ['GET / HTTP/1.1\r\n: a\r\n\r\n', 'its head is not HTTP/1.1'],
  'a header without a colon': ['GET / HTTP/1.1\r\nhost\r\n\r\n', 'its head is not HTTP/1.1'],
  'a null character': ['GET / HTTP/1.1\r\nhost: a\0\r\n\r\n', 'its head is not HTTP/1.1'],
  'a carriage return in a value': ['GET / HTTP/1.1\r\nhost: a\rb\r\n\r\n', 'its head is not HTTP/1.1'],
  'a line feed alone': ['GET / HTTP/1.1\nhost: a', 'a line ends with a line feed only'],
  'two empty lines in front': ['\r\n\r\nGET / HTTP/1.1\r\n\r\n', 'its head is not HTTP/1.1'],
  'two lengths': [
    'POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na',
    'its Content-Length is not one number',
  ],
  'a length that is not a number': [
    'POST / HTTP/1.1\r\ncontent-length: 0x1\r\n\r\na',
    'its Content-Length is not one number',
  ],
  'a negative length': ['POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n', 'its Content-Length is not one number'],
  'a length with a sign': ['POST / HTTP/1.1\r\ncontent-length: +1\r\n\r\na', 'its Content-Length is not one number'],
  'a length and chunks': [
    'POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\na',
    'its headers disagree about how the body is sent',
  ],
  'chunks in HTTP/1.0': [
    'POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n',
    'its headers disagree about how the body is sent',
  ],
  'two codings': [
    'POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n',
    'its headers disagree about how the body is sent',
  ],
  'chunked twice': [
    'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n',
    'its headers disagree about how the body is sent',
  ],
  'a chunk size that is not a number': [
    'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nx\r\n',
    'the size of a chunk is not a number',
  ],
  'a chunk size with another letter': [
    'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1g\r\n',
    'the size of a chunk is not a number',
  ],
  'a line feed after a chunk with a carriage return': [
    'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\na\r\n',
    'a line ends with a line feed only',
  ],
  'a chunk that is too long': [
    'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n',
    'a chunk is longer than its size',
  ],
  'a space after the size of a chunk': [
    'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0 \r\n\r\n',
    'the size of a chunk is not a number',
  ],
  'a head that is too large': [
    `GET / HTTP/1.1\r\nx: ${'y'.repeat(2000)}\r\n\r\n`,
    'its head is larger than 1024 bytes',
    431,
  ],
  'a head that never ends': [`GET / HTTP/1.1\r\nx: ${'y'.repeat(2000)}`, 'its head is larger than 1024 bytes', 431],
  'trailers that are too large': [
    `POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${'x: y\r\n'.repeat(300)}\r\n`,
    'its trailers are larger than 1024 bytes',
    431,
  ],
};

test.each(Object.entries(refused))('a request with %s is refused', (_, [text, why, status = 400]) => {
  let error: unknown;
  try {
    read([text]);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(MalformedRequest);
  expect(error).toMatchObject({
    name: 'MalformedRequest',
    message: `The request is not valid HTTP/1.1: ${why}`,
    status,
  });
});

// A proxy that ends a line at a line feed would see a second request here, or none.
test.each(['\nGET /2 HTTP/1.1', 'x: y\n', 'x: a\rb', 'x: \0', 'x', 'x : y', 'x: y\r\n z', ': y'])(
  'a request with the trailer %j is refused',
  (trailer) => {
    const text = `POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${trailer}\r\n\r\n`;
    expect(() => read([text])).toThrow('The request is not valid HTTP/1.1: a trailer is not a header line');
  },
);

test('a head that comes byte by byte is read in a time that grows with its length only', () => {
  const head = `GET / HTTP/1.1\r\n${'a\r\n'.repeat(5000)}`;
  const reads = vi.spyOn(Buffer.prototype, 'indexOf');
  onTestFinished(() => reads.mockRestore());
  const { parser } = read(Array.from(head), 16_384);
  expect(parser.inHead).toBe(true);
  expect(reads.mock.calls.length).toBeLessThan(3 * head.length);
});

test.each(['9', 'a', 'f', 'A', 'F', '00000000000f'])('a chunk may have the size %s', (size) => {
  const body = 'x'.repeat(Number.parseInt(size, 16));
  const text = `POST / HTTP/1.1\r\n${HOST}transfer-encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\n\r\n`;
  expect(read([text]).requests).toMatchObject([{ body, complete: true }]);
});

test('the beginning of a chunk is not the beginning of a head', () => {
  const { parser } = read([`POST / HTTP/1.1\r\n${HOST}transfer-encoding: chunked\r\n\r\n`, '1']);
  expect(parser.inHead).toBe(false);
});

test('the end of a request may come in front of one that is larger than a head', () => {
  const next = `POST / HTTP/1.1\r\n${HOST}content-length: 2000\r\n\r\n${'x'.repeat(2000)}`;
  const chunks = `POST / HTTP/1.1\r\n${HOST}transfer-encoding: chunked\r\n\r\n0\r\n`;
  expect(read([chunks, `\r\n${next}`]).requests).toMatchObject([{ body: '' }, { body: 'x'.repeat(2000) }]);
});

test('a line feed that follows a body with a carriage return is refused', () => {
  const text = 'POST / HTTP/1.1\r\ncontent-length: 1\r\n\r\n\r\nGET / HTTP/1.1\r\n';
  expect(() => read([text])).toThrow('a line ends with a line feed only');
});

test('the beginning of a head does not keep the bytes in front of it', async () => {
  const collect = garbageCollector();
  const parser = new RequestParser(1024, { onhead: () => {}, ondata: () => {}, onend: () => {} });
  const push = (): WeakRef<ArrayBufferLike> => {
    const text = `POST / HTTP/1.1\r\n${HOST}content-length: 60000\r\n\r\n${'x'.repeat(60_000)}G`;
    let rest: Buffer = Buffer.from(text);
    const all = new WeakRef(rest.buffer);
    while (rest.length > 0) rest = parser.push(rest);
    return all;
  };
  const all = push();
  await vi.waitFor(() => {
    collect();
    expect(all.deref() === undefined).toBe(true);
  });
  expect(parser.inHead).toBe(true);
});

test('a long head is read in a time that grows with its length only', () => {
  const head = `GET / HTTP/1.1\r\n${'a:b\r\n'.repeat(3000)}x y\r\n\r\n`;
  expect(() => read([head], 16_384)).toThrow('its head is not HTTP/1.1');
});
