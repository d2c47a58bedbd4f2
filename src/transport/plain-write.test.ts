import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { usePlainWrite } from './plain-write.ts';

test('the write of Bun is replaced by the one that counts, and no other', () => {
  const seen: unknown[] = [];
  const output = new Writable({ decodeStrings: false, write: (chunk) => void seen.push(chunk) });
  output.write = function writeFast() {
    throw new Error('went round');
  };
  usePlainWrite(output);
  output.write('a');
  output.write('b');
  expect([seen, output.writableLength]).toEqual([['a'], 2]);

  const patched = (): boolean => true;
  output.write = patched;
  usePlainWrite(output);
  expect(output.write).toBe(patched);
});
