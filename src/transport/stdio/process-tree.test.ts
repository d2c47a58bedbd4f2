import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { listProcesses, parsePs, treeOf, type ProcessEntry } from './process-tree.ts';

const entry = (pid: number, parent: number, group = pid): ProcessEntry => ({ pid, parent, group, resident: 1 });
const pids = (leader: number, processes: ProcessEntry[]): number[] =>
  treeOf(leader, processes)
    .map(({ pid }) => pid)
    .toSorted((a, b) => a - b);

test('a tree contains descendants, and processes in the group of a parent that has exited', () => {
  const processes = [
    entry(1, 0),
    entry(10, 1),
    entry(11, 10, 10),
    // The process has left the group, and so have its children.
    entry(12, 11),
    entry(13, 12, 12),
    entry(14, 1, 10),
    entry(15, 14),
    entry(20, 1),
  ];
  expect(pids(10, processes)).toEqual([10, 11, 12, 13, 14, 15]);
  expect(pids(20, processes)).toEqual([20]);
  expect(pids(30, processes)).toEqual([]);
});

test('a process list with reused ids does not cause an endless loop', () => {
  expect(pids(10, [entry(10, 11), entry(11, 10)])).toEqual([10, 11]);
});

test('only valid lines of ps are read', () => {
  expect(parsePs('    1     0     1   1024\n  345     1   300      0\n\nsomething\n')).toEqual([
    { pid: 1, parent: 0, group: 1, resident: 1024 * 1024 },
    { pid: 345, parent: 1, group: 300, resident: 0 },
  ]);
});

// With `darwin`, Linux reads what its own `ps` prints.
const ways = process.platform === 'linux' ? (['linux', 'darwin'] as const) : ([process.platform] as const);

test.skipIf(process.platform === 'win32').each(ways)(
  'on %s, processes are listed with their memory',
  async (platform) => {
    const child = spawn(
      process.execPath,
      ['-e', 'console.log(process.memoryUsage.rss()); setInterval(() => {}, 1000)'],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    const [output] = (await once(child.stdout, 'data')) as [Buffer];
    const found = (await listProcesses(platform)).find(({ pid }) => pid === child.pid);
    expect(found).toMatchObject({ parent: process.pid });
    expect(found!.resident / Number(String(output))).toBeGreaterThan(0.5);
    expect(found!.resident / Number(String(output))).toBeLessThan(2);
  },
);

test('on Windows, processes cannot be listed', async () => {
  await expect(listProcesses('win32')).rejects.toThrow('The processes of a group cannot be listed on Windows');
});
