import { spawn } from 'node:child_process';
import { expect, test, vi } from 'vitest';
import { childTransport } from './child.ts';

vi.mock('node:child_process', { spy: true });

/** Starts a child and ends it. */
async function startChild(): Promise<void> {
  const args = ['-e', 'process.stdin.resume()'];
  const transport = childTransport({ command: process.execPath, args, watchdog: true });
  await transport.start();
  await transport.close();
}

test.skipIf(process.platform === 'win32')('the watchdog starts before the first child, and stays', async () => {
  await startChild();
  await startChild();
  const commands = vi.mocked(spawn).mock.calls.map(([command]) => command);
  expect(commands).toEqual(['/bin/sh', process.execPath, process.execPath]);
});
