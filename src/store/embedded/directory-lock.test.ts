import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { DirectoryInUse, lockDirectory } from './directory-lock.ts';

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'everwire-lock-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** What a process that was killed leaves. */
async function leaveLock(directory: string, name: string): Promise<void> {
  const [made, kept] = [path.join(directory, name), path.join(directory, 'kept')];
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(made, resolve));
  renameSync(made, kept);
  await new Promise((resolve) => void server.close(resolve));
  renameSync(kept, made);
}

test.skipIf(process.platform === 'win32')('of many that start at once, one gets the lock', async () => {
  const directory = folder();
  for (let round = 0; round < 50; round += 1) {
    await leaveLock(directory, 'lock-0a1b2c3d');
    const starts = Array.from({ length: 8 }, async (_, n) => {
      for (let turns = (n * (round + 1)) % 11; turns > 0; turns -= 1) await setImmediate();
      return lockDirectory(directory);
    });
    const results = await Promise.allSettled(starts);
    const unlocks = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(unlocks).toHaveLength(1);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
    expect(refused.filter((error) => !(error instanceof DirectoryInUse))).toEqual([]);
    await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUse);
    await unlocks[0]!();
    expect(readdirSync(directory)).toEqual([]);
  }
});

// On Linux, a socket whose relative path looks like the name of a pipe of Windows.
test.skipIf(process.platform === 'win32')('on Windows, the lock is a named pipe', async () => {
  const [here, directory] = [process.cwd(), folder()];
  process.chdir(directory);
  onTestFinished(() => process.chdir(here));
  const unlock = await lockDirectory(directory, 'win32');
  expect(readdirSync(directory)).toEqual([expect.stringMatching(/^\\\\\.\\pipe\\everwire-[0-9a-f]{64}$/)]);
  await expect(lockDirectory(directory, 'win32')).rejects.toThrow(DirectoryInUse);
  await unlock();
  await (
    await lockDirectory(directory, 'win32')
  )();
});
