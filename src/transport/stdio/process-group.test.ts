import fs from 'node:fs/promises';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ProcessGroup } from './process-group.ts';

/** A group with one process that ends at SIGTERM, or does not. */
async function group(script: string): Promise<{ group: ProcessGroup; child: ChildProcess }> {
  const child = spawn(process.execPath, ['-e', `${script}; console.log('up'); setInterval(() => {}, 1000)`], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const members = new ProcessGroup(child.pid!);
  onTestFinished(() => {
    child.kill('SIGKILL');
    members.forget();
  });
  await once(child.stdout, 'data');
  return { group: members, child };
}

const linux = process.platform === 'linux';
if (!linux) console.info('Skipped: what is left of a process group is read from /proc, which only Linux has');

describe.skipIf(!linux)('the remaining processes of a process group', () => {
  const readdir = vi.spyOn(fs, 'readdir');
  beforeEach(() => {
    syncBuiltinESMExports();
  });
  afterEach(() => {
    readdir.mockReset();
    syncBuiltinESMExports();
  });

  test('are ended on systems without /proc', async () => {
    readdir.mockImplementation(() => {
      throw Object.assign(new Error('ENOENT: no such file or directory, scandir /proc'), { code: 'ENOENT' });
    });
    const { group: members, child } = await group('');
    const exit = once(child, 'exit');
    await members.endSurvivors(5000);
    expect(readdir).toHaveBeenCalled();
    expect(await exit).toEqual([null, 'SIGTERM']);
  });

  test('are checked with growing pauses', async () => {
    const { group: members, child } = await group(`process.on('SIGTERM', () => {})`);
    const exit = once(child, 'exit');
    await members.endSurvivors(1000);
    expect(await exit).toEqual([null, 'SIGKILL']);
    // Every 20 ms would be 50 checks.
    expect(readdir.mock.calls.length).toBeLessThan(20);
  });
});
