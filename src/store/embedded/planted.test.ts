import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { notification } from '../../jsonrpc/message.ts';
import type { TableName } from '../tables/table.ts';
import { embeddedState } from './embedded-state.ts';
import { toFrame } from './frame.ts';
import { openDatabase } from './open-database.ts';

/** Something else, or another version of Everwire, has written an entry with a correct checksum. */

test.each<[TableName, key: string, text: string]>([
  // The session before it has a key that comes after it.
  ['events', '{/000000000001', '["a",0,1,200,200]'],
  ['places', 'other', 'null'],
])('an entry of %s that no process has written (%s: %s) is damage', async (name, key, text) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'everwire-planted-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const before = await embeddedState(directory);
  await before.sessions.put('one', { initialize: {} });
  const first = await before.events.open('one', 'a', [1]);
  await before.events.append('one', 'a', notification('m'));
  await before.close();
  const root = await openDatabase(path.join(directory, 'state.mdb'));
  root.openDB<Buffer, string>(name, { encoding: 'binary' }).putSync(key, toFrame(key, text));
  await root.close();
  const warnings: string[] = [];
  const { sessions, events, close } = await embeddedState(directory, { onwarning: (each) => warnings.push(each) });
  expect(warnings).toEqual([expect.stringContaining('state.mdb was damaged: 5 entries could be read')]);
  expect(await sessions.get('one')).toEqual({ initialize: {} });
  const read: unknown[] = [];
  for await (const { message } of events.after('one', first)) read.push(message);
  expect(read).toEqual([notification('m')]);
  await close();
});
