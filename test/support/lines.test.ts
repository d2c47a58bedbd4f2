import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { onLine } from './lines.ts';

test('a line ends only with a line feed, and the last one may have none', async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  onLine(stream, (line) => lines.push(line));
  const bytes = Buffer.from('one\u2028two\r\n\nthree \u{1F600} and\rfour');
  for (const byte of bytes) stream.write(Buffer.of(byte));
  stream.end();
  await new Promise((resolve) => stream.once('close', resolve));
  expect(lines).toEqual(['one\u2028two', '', 'three \u{1F600} and\rfour']);
});
