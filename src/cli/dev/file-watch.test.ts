import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { temporaryFolder } from '../../../test/support/command-line.ts';
import { FileWatch, POLL_INTERVAL } from './file-watch.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const polls = (count: number): unknown => vi.advanceTimersByTime(count * POLL_INTERVAL);

test('changes are reported together, when nothing changes for one interval', () => {
  const folder = temporaryFolder();
  const [one, other, missing] = ['one.mjs', 'other.mjs', 'missing.mjs'].map((name) => path.join(folder, name));
  writeFileSync(one!, '1');
  writeFileSync(other!, '1');
  const changes: (readonly string[])[] = [];
  const watch = new FileWatch((files) => changes.push(files));
  for (const file of [one, other, missing]) watch.add(file!);
  polls(10);
  expect(changes).toEqual([]);

  writeFileSync(one!, '12');
  polls(1);
  writeFileSync(other!, '12');
  polls(1);
  writeFileSync(one!, '123');
  polls(1);
  expect(changes).toEqual([]);
  polls(1);
  expect(changes).toEqual([[one, other]]);

  rmSync(other!);
  writeFileSync(missing!, '');
  polls(2);
  expect(changes.slice(1)).toEqual([[other, missing]]);

  watch.clear();
  watch.add(one!);
  writeFileSync(missing!, 'more');
  polls(2);
  writeFileSync(one!, '1');
  watch.close();
  polls(5);
  expect(changes).toHaveLength(2);
});
