import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { FileTokenStore } from './file-token-store.ts';

const BLOCK = 1024;
const KEY = { server: 'https://mcp.example/mcp', issuer: 'https://auth.example' };
const TOKENS = { tokenType: 'Bearer' as const, scopes: [], resource: KEY.server, clientId: 'app' };
const OLD = { tokens: { ...TOKENS, accessToken: 'old', refreshToken: 'spent' } };
const NEW = { tokens: { ...TOKENS, accessToken: 'n'.repeat(16_384), refreshToken: 'r'.repeat(16_384) } };

const root = mkdtempSync(path.join(tmpdir(), 'everwire-full-disk-'));
const disk = path.join(root, 'disk');

/** Mounts a disk of 3 MiB. Only the administrator of a Linux machine can. */
function mounts(): boolean {
  const image = path.join(root, 'image');
  try {
    writeFileSync(image, '');
    truncateSync(image, 3 * 1024 * 1024);
    mkdirSync(disk);
    execFileSync('mkfs.ext4', ['-q', '-b', `${BLOCK}`, '-O', '^has_journal', '-m', '0', image], { stdio: 'ignore' });
    execFileSync('mount', ['-o', 'loop', image, disk], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
const mounted = mounts();
afterAll(() => {
  if (mounted) execFileSync('umount', [disk]);
  rmSync(root, { recursive: true });
});

const freeBlocks = (): number => statfsSync(disk).bavail;

/** Fills the disk, but for about this many blocks. With 0, nothing is left. */
function fill(name: string, free: number): void {
  const file = path.join(disk, name);
  const filling = (blocks: number): void => appendFileSync(file, Buffer.alloc(blocks * BLOCK), { flush: true });
  try {
    for (let more = freeBlocks() - free; more > 0 || free === 0; more = freeBlocks() - free) filling(Math.max(more, 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

// The number of other files decides whether the folder has space for another name.
test.skipIf(!mounted).each(Array.from({ length: 16 }, (_, others) => others))(
  'new tokens have space on a disk that becomes full, in a folder with %i other files',
  async (others) => {
    for (const name of ['before', 'meanwhile', 'tokens'])
      rmSync(path.join(disk, name), { recursive: true, force: true });
    const store = new FileTokenStore(path.join(disk, 'tokens'));
    await store.set(KEY, OLD);
    for (let n = 0; n < others; n += 1) await store.set({ ...KEY, issuer: `${KEY.issuer}/${n}` }, OLD);
    fill('before', 80);
    await store.locked(KEY, async () => {
      fill('meanwhile', 0);
      await store.set(KEY, NEW);
    });
    expect(await store.get(KEY)).toEqual(NEW);
  },
);

test.skipIf(!mounted).each([0, 1, 2, 60])('a section does not begin on a disk with %i free blocks', async (free) => {
  for (const name of ['before', 'meanwhile', 'tokens']) rmSync(path.join(disk, name), { recursive: true, force: true });
  const store = new FileTokenStore(path.join(disk, 'tokens'));
  await store.set(KEY, OLD);
  fill('before', free);
  let began = false;
  const section = store.locked(KEY, async () => {
    began = true;
  });
  await expect(section).rejects.toThrow('ENOSPC: no space left on device');
  expect(began).toBe(false);
  expect(await store.get(KEY)).toEqual(OLD);
});
