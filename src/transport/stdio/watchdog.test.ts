import { ChildProcess, spawn } from 'node:child_process';
import { afterEach, expect, test, vi } from 'vitest';
import { childTransport } from './child.ts';

vi.mock('node:child_process', { spy: true });

afterEach(() => void vi.mocked(spawn).mockClear());

/** Starts a child and ends it. Returns its errors. */
async function startChild(): Promise<string[]> {
  const args = ['-e', 'process.stdin.resume()'];
  const transport = childTransport({ command: process.execPath, args, watchdog: true });
  const errors: string[] = [];
  transport.onerror = ({ message }) => errors.push(message);
  await transport.start();
  await transport.close();
  return errors;
}

test.skipIf(process.platform === 'win32')('a child also starts if there is no pipe for the watchdog', async () => {
  vi.mocked(spawn).mockImplementationOnce(() => {
    const shell = new ChildProcess();
    setImmediate(() => shell.emit('error', new Error('spawn /bin/sh EMFILE')));
    return shell;
  });
  expect(await startChild()).toEqual(['The watchdog of node cannot run: spawn /bin/sh EMFILE']);
});

test.skipIf(process.platform === 'win32')('the watchdog starts before the first child, and stays', async () => {
  await startChild();
  await startChild();
  const commands = vi.mocked(spawn).mock.calls.map(([command]) => command);
  expect(commands).toEqual(['/bin/sh', process.execPath, process.execPath]);
});
