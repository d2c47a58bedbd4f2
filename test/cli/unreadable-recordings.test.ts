import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Capture, recordToFile } from '../../src/inspect/index.ts';
import { runEverwire, temporaryFolder } from '../support/command-line.ts';

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
