import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { passWholeLines } from './whole-lines.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('lines of two processes do not mix, whatever the pieces in which they come', async () => {
  const [one, two, to] = [new PassThrough(), new PassThrough(), new PassThrough()];
  passWholeLines(one, to);
  passWholeLines(two, to);
  for (const [from, piece] of [
    [one, 'first '],
    [two, 'sec'],
    [one, 'line\nthe end'],
    [two, 'ond line\nthird line\n'],
    [two, 'fourth'],
  ] as const) {
    from.write(piece);
    await turn();
  }
  one.end();
  await turn();
  two.end();
  await turn();
  expect(String(to.read())).toBe('first line\nsecond line\nthird line\nthe end\nfourth\n');
});

test('a character in two pieces stays whole', async () => {
  const [from, to] = [new PassThrough(), new PassThrough()];
  passWholeLines(from, to);
  const bytes = Buffer.from('é\n');
  from.write(bytes.subarray(0, 1));
  await turn();
  from.write(bytes.subarray(1));
  await turn();
  expect(String(to.read())).toBe('é\n');
});

test('while nobody reads, a process waits, and no line is lost', async () => {
  const [from, to] = [new PassThrough(), new PassThrough({ highWaterMark: 1024 })];
  passWholeLines(from, to);
  const line = `${'x'.repeat(1000)}\n`;
  let sent = 0;
  while (from.write(line)) {
    sent += 1;
    await turn();
  }
  sent += 1;
  expect(to.writableLength).toBeLessThan(8 * line.length);
  let read = '';
  to.on('data', (chunk: Buffer) => void (read += chunk));
  from.end();
  await new Promise((resolve) => from.once('close', resolve));
  await turn();
  expect(read).toBe(line.repeat(sent));
});
