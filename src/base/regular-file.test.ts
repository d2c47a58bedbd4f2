import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../bridge/config/config.ts';
import { readRegularFile } from './regular-file.ts';
import { readUtf8File } from './text-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a file is read up to the size limit, and refused beyond it', () => {
  const file = path.join(folder, 'a');
  for (const length of [0, 1, 65_536, 100_000]) {
    writeFileSync(file, 'x'.repeat(length));
    expect(readRegularFile(file, 100_000)).toHaveLength(length);
  }
  expect(() => readRegularFile(file, 99_999)).toThrow('it is larger than 99999 bytes');
});

test.skipIf(process.platform === 'win32')('a pipe without a writer is refused at once', () => {
  const pipe = path.join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  expect(() => readConfig(pipe)).toThrow(`${pipe}: it is not a regular file`);
});

test.skipIf(process.platform === 'win32')('a device that never ends is refused', () => {
  expect(() => readConfig('/dev/zero')).toThrow('/dev/zero: it is not a regular file');
});

test('a folder is refused', () => {
  expect(() => readConfig(folder)).toThrow(`${folder}: it is a directory`);
});

test('a byte order mark is not part of a text', () => {
  const file = path.join(folder, 'a');
  writeFileSync(file, '\uFEFFKEY=\uFEFFgrün');
  expect(readUtf8File(file, 100)).toBe('KEY=\uFEFFgrün');
});

test.each(['utf16le', 'latin1'] as const)('a text in %s is refused', (encoding) => {
  const file = path.join(folder, 'mcp.json');
  writeFileSync(file, '\uFEFF{"mcpServers":{"mine":{"command":"C:\\\\Jürgen\\\\x"}}}', encoding);
  expect(() => readConfig(file)).toThrow(`${file}: it is not a text in UTF-8`);
});
