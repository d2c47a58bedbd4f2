import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { linesOf, onLine } from './lines.ts';

const called = async (stream: PassThrough): Promise<string[]> => {
  const lines: string[] = [];
  onLine(stream, (line) => lines.push(line));
  await new Promise((resolve) => stream.once('close', resolve));
  return lines;
};
const iterated = async (stream: PassThrough): Promise<string[]> => {
  const lines: string[] = [];
  for await (const line of linesOf(stream)) lines.push(line);
  return lines;
};

test.each([
  ['onLine', called],
  ['linesOf', iterated],
])('%s: a line ends only with a line feed, and the last one may have none', async (_, lines) => {
  const stream = new PassThrough();
  const read = lines(stream);
  const bytes = Buffer.from('one\u2028two\r\n\nthree \u{1F600} and\rfour');
  for (const byte of bytes) stream.write(Buffer.of(byte));
  stream.end();
  expect(await read).toEqual(['one\u2028two', '', 'three \u{1F600} and\rfour']);
});
