import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { watchConfig } from './watch.ts';

/** A watched file in fake time. `look` is the result of one poll. */
function watched(name = 'mcp.json', prepare: (folder: string, file: string) => void = () => {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-watch-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, 'one');
  prepare(folder, file);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const onchange = vi.fn<() => void>();
  const unwatch = watchConfig(file, onchange);
  onTestFinished(unwatch);
  const look = (): number => {
    onchange.mockClear();
    vi.advanceTimersByTime(1000);
    return onchange.mock.calls.length;
  };
  return { folder, file, look, unwatch };
}

test('each change is reported if a file is written, replaced, removed and created again', () => {
  const { folder, file, look } = watched();
  expect(look()).toBe(0);
  writeFileSync(file, 'other');
  expect(look()).toBe(1);
  writeFileSync(path.join(folder, 'new'), 'three');
  renameSync(path.join(folder, 'new'), file);
  expect(look()).toBe(1);
  rmSync(file);
  expect(look()).toBe(1);
  expect(look()).toBe(0);
  writeFileSync(file, 'four');
  expect(look()).toBe(1);
});

test('several changes between two polls count as one, and other files of the folder do not count', () => {
  const { folder, file, look } = watched();
  writeFileSync(path.join(folder, 'other'), 'x');
  expect(look()).toBe(0);
  for (const text of ['a', 'ab', 'abc']) writeFileSync(file, text);
  expect(look()).toBe(1);
  expect(look()).toBe(0);
});

test.skipIf(process.platform === 'win32')("a change is reported if a link's target folder is replaced", () => {
  const { folder, look } = watched('mcp.json', (directory, file) => {
    for (const version of ['v1', 'v2']) {
      mkdirSync(path.join(directory, version));
      writeFileSync(path.join(directory, version, 'mcp.json'), version);
    }
    rmSync(file);
    symlinkSync('v1', path.join(directory, 'current'));
    symlinkSync('current/mcp.json', file);
  });
  symlinkSync('v2', path.join(folder, 'next'));
  renameSync(path.join(folder, 'next'), path.join(folder, 'current'));
  expect(look()).toBe(1);
});

test("a change is reported if the file's folder is replaced", () => {
  const { folder, file, look } = watched('sub/mcp.json');
  renameSync(path.join(folder, 'sub'), path.join(folder, 'old'));
  expect(look()).toBe(1);
  mkdirSync(path.join(folder, 'sub'));
  writeFileSync(file, 'two');
  expect(look()).toBe(1);
});

test('nothing is reported after the watch has ended', () => {
  const { file, look, unwatch } = watched();
  unwatch();
  writeFileSync(file, 'other');
  expect(look()).toBe(0);
});
