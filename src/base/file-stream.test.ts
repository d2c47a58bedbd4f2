import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileStream } from './file-stream.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-stream-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function sizeOf(stream: AsyncIterable<Buffer>): Promise<number> {
  let size = 0;
  for await (const chunk of stream) size += chunk.length;
  return size;
}

test('a file is read', async () => {
  const file = path.join(folder, 'a');
  writeFileSync(file, 'x'.repeat(200_000));
  expect(await sizeOf(fileStream(file))).toBe(200_000);
});

test('a file that does not exist is an error', () => {
  expect(() => fileStream(path.join(folder, 'none'))).toThrow('ENOENT');
});

test.skipIf(process.platform === 'win32')('a pipe is read until its writer closes it', async () => {
  const pipe = path.join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const size = sizeOf(fileStream(pipe));
  // The writer comes later. Each part is more than a pipe holds.
  execFile('sh', ['-c', `(for part in 1 2 3; do head -c 100000 /dev/zero; sleep 0.1; done) > ${pipe}`]);
  expect(await size).toBe(300_000);
});
