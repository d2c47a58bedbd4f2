import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { notification } from '../../jsonrpc/message.ts';
import { embeddedState } from './embedded-state.ts';

const root = mkdtempSync(path.join(tmpdir(), 'everwire-full-disk-'));
const disk = path.join(root, 'disk');

/** Mounts a disk of 4 MiB. Only the administrator of a Linux machine can. */
function mounts(): boolean {
  const image = path.join(root, 'image');
  try {
    writeFileSync(image, '');
    truncateSync(image, 4 * 1024 * 1024);
    mkdirSync(disk);
    execFileSync('mkfs.ext4', ['-q', '-b', '1024', '-O', '^has_journal', '-m', '0', image], { stdio: 'ignore' });
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

function fill(): void {
  const file = path.join(disk, 'others');
  try {
    for (;;) appendFileSync(file, Buffer.alloc(1024), { flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

test.skipIf(!mounted)('on a full disk, what cannot be stored fails, and what was stored is still there', async () => {
  const directory = path.join(disk, 'data');
  const state = await embeddedState(directory);
  const { sessions, events, tasks } = state;
  const record = { initialize: { text: 'x'.repeat(1000) } };
  await sessions.put('before', record);
  const first = await events.open('before', '0');
  await events.append('before', '0', notification('one'));
  fill();
  const large = 'x'.repeat(100_000);
  const failed = /^The store could not be written: No space left on device/;
  await expect(sessions.change('before', (before) => ({ ...before, resources: [large] }))).rejects.toThrow(failed);
  await expect(sessions.put('during', { initialize: { large } })).rejects.toThrow(failed);
  await expect(events.append('before', '0', notification('two', { large }))).rejects.toThrow(failed);
  const task = { id: 'a', runner: 'one', status: 'working', createdAt: Date.now(), lastUpdatedAt: Date.now() } as const;
  const create = tasks.create({ ...task, ttlMs: null, pollIntervalMs: 1, statusMessage: large });
  await expect(create).rejects.toThrow(failed);
  for (let n = 0; n < 1000; n += 1)
    await expect(events.append('before', '0', notification('more', { large }))).rejects.toThrow(failed);
  expect(await sessions.get('before')).toEqual(record);
  expect(await sessions.get('during')).toBeUndefined();
  expect(await tasks.get('a', undefined)).toBeUndefined();
  // There is space again.
  rmSync(path.join(disk, 'others'));
  await sessions.put('during', record);
  await events.append('before', '0', notification('three'));
  const methods = async (log: typeof events): Promise<unknown[]> => {
    const read: unknown[] = [];
    for await (const { message } of log.after('before', first)) read.push((message as { method: string }).method);
    return read;
  };
  expect(await methods(events)).toEqual(['one', 'three']);
  await state.close();
  const warnings: string[] = [];
  const again = await embeddedState(directory, { onwarning: (message) => warnings.push(message) });
  expect(await again.sessions.get('before')).toEqual(record);
  expect(await again.sessions.get('during')).toEqual(record);
  expect(await methods(again.events)).toEqual(['one', 'three']);
  expect(warnings).toEqual([]);
  await again.close();
});

test.skipIf(!mounted)(
  'a store cannot be made on a full disk, and one without its lock file is not taken for damaged',
  async () => {
    const directory = path.join(disk, 'kept');
    await (await embeddedState(directory)).close();
    rmSync(path.join(directory, 'state.mdb-lock'));
    fill();
    for (const full of [directory, path.join(disk, 'new')])
      await expect(embeddedState(full)).rejects.toThrow(
        `The store ${full} cannot be used: no space is left on the disk`,
      );
    rmSync(path.join(disk, 'others'));
    const onwarning = (warning: string): never => expect.fail(warning);
    await (await embeddedState(directory, { onwarning })).close();
  },
);
