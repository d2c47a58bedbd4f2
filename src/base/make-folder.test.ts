import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from './make-folder.ts';

async function temporary(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everwire-folder-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test('a folder and those above it are created once, for their owner only', async () => {
  const folder = path.join(await temporary(), 'a', 'b', 'c');
  await Promise.all([makeFolder(folder), makeFolder(folder)]);
  await makeFolder(folder);
  for (const each of [folder, path.dirname(folder)]) {
    const { mode } = await stat(each);
    expect(mode & 0o777).toBe(process.platform === 'win32' ? mode & 0o777 : 0o700);
  }
});

test('a file in its place is an error', async () => {
  const file = path.join(await temporary(), 'file');
  await writeFile(file, '');
  await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(path.join(file, 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test.skipIf(process.platform === 'win32')('a link to nothing is an error', async () => {
  const link = path.join(await temporary(), 'link');
  await symlink('nothing', link);
  await expect(makeFolder(path.join(link, 'a'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test.skipIf(process.platform !== 'linux')('a folder where nothing can be created is an error', async () => {
  await expect(makeFolder('/proc/nothing/here')).rejects.toMatchObject({ code: 'ENOENT' });
});
