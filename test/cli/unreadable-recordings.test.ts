import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { Capture, recordToFile } from '../../src/inspect/index.ts';
import { runEverwire, startEverwire, temporaryFolder } from '../support/command-line.ts';

/** All commands that read a recording say the same about one that they cannot use. */

const FILES = {
  'missing.mcpcap': async () => {},
  'folder.mcpcap': async (file: string) => mkdirSync(file),
  'text.mcpcap': async (file: string) => writeFileSync(file, 'not a recording\n'),
  'broken.mcpcap': async (file: string) => {
    await (await recordToFile(new Capture(), file, { onerror: () => {} })).close();
    writeFileSync(file, '{"broken":\n', { flag: 'a' });
  },
  'empty.mcpcap': async (file: string) => {
    await (await recordToFile(new Capture(), file, { onerror: () => {} })).close();
  },
};

test.each(Object.entries(FILES))('%s', async (name, write) => {
  const file = path.join(temporaryFolder(), name);
  await write(file);
  const commands = [
    ['compare', file],
    ['export', '--as', 'vitest'],
    ['mock', '--stdio'],
    ['replay', 'http://127.0.0.1:1/mcp'],
  ];
  const outcomes = await Promise.all(commands.map((words) => runEverwire([...words, file])));
  const first = outcomes[0]!;
  expect(first).toMatchObject({ code: 2, stdout: '' });
  expect(first.stderr).toContain(file);
  for (const outcome of outcomes) expect(outcome).toEqual(first);
});

/** Opens a pipe for writing, as soon as another process has opened it for reading. */
function writeEndOf(pipe: string): number | undefined {
  try {
    return openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}

// A read that blocks a thread would keep the process until SIGKILL.
test.skipIf(process.platform === 'win32').each([
  ['check', (pipe: string) => ['check', pipe]],
  ['call', (pipe: string) => ['call', 'add', '--args-json', `@${pipe}`, '--', 'node']],
])('SIGTERM ends a command that waits for what a pipe will have: %s', async (_, words) => {
  const pipe = path.join(temporaryFolder(), 'pipe.mcpcap');
  execFileSync('mkfifo', [pipe]);
  const { child, exited } = startEverwire(words(pipe));
  const writer = await vi.waitUntil(() => writeEndOf(pipe), { timeout: 15_000 });
  child.kill('SIGTERM');
  expect(await exited).toEqual({ code: 130, signal: null });
  closeSync(writer);
});
