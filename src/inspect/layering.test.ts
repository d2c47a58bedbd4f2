import { expect, test } from 'vitest';
import type { WireStream } from '../transport/wiretap.ts';
import { Layering } from './layering.ts';
import type { WireRecord } from './record.ts';

/** Records of a connection, of which some bytes are missing: those of a number instead of a text. */
function recordsOf(protocol: 'http' | 'stdio', sent: readonly (readonly [WireStream, string | number])[]): string[] {
  const shown: string[] = [];
  const text = { 'c>s': '', 's>c': '', stderr: '' };
  const layering = new Layering((record: WireRecord) => {
    if (!('dir' in record) || record.layer === 'bytes') return;
    const { layer, dir, range, exchange = '', note = '' } = record;
    const pieces = range.flatMap((start, i) => (i % 2 === 0 ? [text[dir].slice(start, range[i + 1])] : []));
    shown.push(`${layer} ${exchange} ${note}: ${pieces.join('').replaceAll('\r\n', ' ').trim()}`.replace(/ +/g, ' '));
  }, true);
  layering.add({ t: 0, layer: 'open', conn: 1, protocol, role: 'client' });
  for (const [dir, piece] of sent) {
    const start = text[dir].length;
    text[dir] += typeof piece === 'number' ? '?'.repeat(piece) : piece;
    if (typeof piece === 'number') continue;
    layering.add({ t: 0, layer: 'bytes', conn: 1, dir, range: [start, text[dir].length], bytes: Buffer.from(piece) });
  }
  layering.add({ t: 0, layer: 'close', conn: 1 });
  return shown;
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const NO_CONTENT = 'HTTP/1.1 204 No Content\r\n\r\n';

test('after missing bytes, HTTP is read again from the next request, with numbers that agree', () => {
  expect(
    recordsOf('http', [
      ['c>s', GET],
      ['s>c', NO_CONTENT],
      ['c>s', 'POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n123'],
      ['c>s', 500],
      ['s>c', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nof wh'],
      ['c>s', 'at was missed'],
      ['s>c', NO_CONTENT],
      ['c>s', GET],
      ['s>c', NO_CONTENT],
      ['c>s', GET],
      ['s>c', NO_CONTENT],
    ]),
  ).toEqual([
    ...['head 1 : GET / HTTP/1.1 Host: a', 'head 1 : HTTP/1.1 204 No Content'],
    ...['head 2 : POST / HTTP/1.1 Content-Length: 9', 'head 2 : HTTP/1.1 200 OK Content-Length: 5', 'body 2 : of wh'],
    ...['body 2 cut off: 123'],
    ...['head 3 : GET / HTTP/1.1 Host: a', 'head 3 : HTTP/1.1 204 No Content'],
    ...['head 4 : GET / HTTP/1.1 Host: a', 'head 4 : HTTP/1.1 204 No Content'],
  ]);
});

test('missing bytes of a response cut it off, and the secrets of what follows are found', () => {
  expect(
    recordsOf('http', [
      ['c>s', GET],
      ['s>c', 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2'],
      ['s>c', 100],
      ['s>c', '\n\ndata: 3\n\n'],
      ['c>s', GET],
      ['s>c', NO_CONTENT],
    ]),
  ).toEqual([
    ...['head 1 : GET / HTTP/1.1 Host: a', 'head 1 : HTTP/1.1 200 OK Content-Type: text/event-stream'],
    ...['frame 1 : data: 1', 'frame 1 cut off: data: 2', 'body 1 cut off: data: 1\n\ndata: 2'],
    ...['head 2 : GET / HTTP/1.1 Host: a', 'head 2 : HTTP/1.1 204 No Content'],
  ]);
});

test('missing bytes cut lines', () => {
  expect(
    recordsOf('stdio', [
      ['s>c', '{"id":1,"result":{}}\n{"id":2,"res'],
      ['stderr', 'untouched'],
      ['s>c', 100],
      ['s>c', 'ult":{}}\n{"id":3,"result":{}}\n'],
    ]),
  ).toEqual([
    ...['line : {"id":1,"result":{}}', 'message : {"id":1,"result":{}}', 'line cut off: {"id":2,"res'],
    ...['line cut off: ult":{}}', 'line : {"id":3,"result":{}}', 'message : {"id":3,"result":{}}'],
    'stderr without a line end: untouched',
  ]);
});

test('bytes of a connection whose opening is missing are kept without parts', () => {
  const records: WireRecord[] = [];
  const layering = new Layering((record) => records.push(record), true);
  layering.add({ t: 0, layer: 'gap', count: 5 });
  layering.add({ t: 1, layer: 'bytes', conn: 7, dir: 'c>s', range: [3, 5], bytes: Buffer.from('x\n') });
  layering.add({ t: 2, layer: 'close', conn: 7 });
  expect(records).toMatchObject([
    { n: 5, layer: 'gap', from: 1 },
    { n: 6, layer: 'bytes', range: [3, 5] },
    { n: 7, layer: 'close' },
  ]);
});
