import { expect, test } from 'vitest';
import { StreamBytes } from './stream-bytes.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function streamOf(...chunks: (readonly [start: number, text: string])[]): StreamBytes {
  const stream = new StreamBytes(1024);
  for (const [start, text] of chunks) stream.add('s', start, bytes(text));
  return stream;
}

test.each<[range: number[], text: string | undefined]>([
  [[0, 6], 'abcdef'],
  [[1, 2], 'b'],
  [[2, 5], 'cde'],
  [[0, 1, 4, 6], 'aef'],
  [[3, 3], ''],
  [[5, 7], undefined],
  [[6, 8], undefined],
  [[8, 10], 'gh'],
  [[8, 11], undefined],
])('the bytes of the range %j', (range, text) => {
  const found = streamOf([0, 'ab'], [2, 'c'], [3, ''], [3, 'def'], [8, 'gh']).read('s', range);
  expect(found && new TextDecoder().decode(found)).toBe(text);
});

test('bytes of an unknown stream, and forgotten bytes, are missing', () => {
  const stream = streamOf([0, 'ab'], [2, 'cd']);
  expect(stream.read('other', [0, 1])).toBeUndefined();
  stream.forget('s', 2);
  expect(stream.read('s', [0, 1])).toBeUndefined();
  expect(stream.read('s', [2, 4])).toEqual(bytes('cd'));
});

test('each of many events in a stream is read in a short time', () => {
  const count = 200_000;
  const stream = new StreamBytes(count);
  const before = process.cpuUsage();
  for (let at = 0; at < count; at += 1) {
    stream.add('s', at, bytes('a'));
    if (stream.read('s', [at, at + 1])?.length !== 1) throw new Error(`no byte ${at}`);
  }
  expect(process.cpuUsage(before).user).toBeLessThan(15_000_000);
});
