import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync, type watch } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { watchConfig, type ConfigWatchOptions } from './watch.ts';

/** A folder with a file, which is watched; `next` resolves with the next change. */
function watched(options: Partial<ConfigWatchOptions> = {}, file = 'mcp.json') {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-watch-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const full = path.join(folder, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, 'one');
  const warnings: string[] = [];
  let changes = 0;
  let resolve: () => void = () => {};
  const start = (): void => {
    const watching = watchConfig(full, {
      onchange: () => {
        changes += 1;
        resolve();
      },
      onwarning: (warning) => void warnings.push(warning),
      debounce: 20,
      ...options,
    });
    onTestFinished(() => watching.close());
    stop = () => watching.close();
  };
  let stop = (): void => {};
  const next = (): Promise<void> => new Promise((done) => (resolve = done));
  return { folder, full, warnings, start, stop: () => stop(), next, changes: () => changes };
}

describe('a file that is watched', () => {
  test('is taken up when it is written, replaced, removed and there again', async () => {
    const { folder, full, start, next, changes, warnings } = watched();
    start();
    for (const change of [
      () => writeFileSync(full, 'two'),
      () => {
        writeFileSync(path.join(folder, 'new'), 'three');
        renameSync(path.join(folder, 'new'), full);
      },
      () => rmSync(full),
      () => writeFileSync(full, 'four'),
    ]) {
      const changed = next();
      change();
      await changed;
    }
    expect(changes()).toBe(4);
    expect(warnings).toEqual([]);
  });

  test('is taken up once where it is written in several steps, and not for what else is in its folder', async () => {
    const { folder, full, start, next, changes } = watched();
    start();
    const changed = next();
    writeFileSync(path.join(folder, 'other'), 'x');
    for (const text of ['a', 'ab', 'abc']) writeFileSync(full, text);
    await changed;
    expect(changes()).toBe(1);
  });

  test.skipIf(process.platform === 'win32')(
    'may be a link into a folder that is replaced, as deployments do',
    async () => {
      const { folder, full, start, next } = watched();
      for (const version of ['v1', 'v2']) {
        mkdirSync(path.join(folder, version));
        writeFileSync(path.join(folder, version, 'mcp.json'), version);
      }
      rmSync(full);
      symlinkSync('v1', path.join(folder, 'current'));
      symlinkSync('current/mcp.json', full);
      start();
      const changed = next();
      symlinkSync('v2', path.join(folder, 'next'));
      renameSync(path.join(folder, 'next'), path.join(folder, 'current'));
      await changed;
    },
  );

  test('is looked at now and then where its folder cannot be watched', async () => {
    const fails = (() => {
      throw new Error('ENOSPC');
    }) as unknown as typeof watch;
    const { full, start, next, warnings } = watched({ watch: fails, pollInterval: 10 });
    start();
    const changed = next();
    writeFileSync(full, 'two');
    await changed;
    expect(warnings).toEqual([`cannot watch ${full}, and looks at it every 10 ms instead: ENOSPC`]);
  });

  test('is followed where its folder is replaced', async () => {
    const { folder, full, start, next } = watched({ pollInterval: 10 }, 'sub/mcp.json');
    start();
    const gone = next();
    renameSync(path.join(folder, 'sub'), path.join(folder, 'old'));
    await gone;
    const there = next();
    mkdirSync(path.join(folder, 'sub'));
    writeFileSync(full, 'two');
    await there;
  });
});
