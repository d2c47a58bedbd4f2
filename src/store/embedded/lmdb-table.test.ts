import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { notification } from '../../jsonrpc/message.ts';
import { EventsInTables } from '../tables/events.ts';
import { LmdbTable } from './lmdb-table.ts';
import { openDatabase } from './open-database.ts';
import { Writer } from './writer.ts';

test('damaged events of one stream do not hide those of another', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-table-'));
  const root = await openDatabase(path.join(folder, 'state.mdb'));
  onTestFinished(async () => {
    await root.close();
    rmSync(folder, { recursive: true });
  });
  const writer = new Writer(root);
  const database = root.openDB<Buffer, string>('events', { encoding: 'binary' });
  const damaged: string[] = [];
  const events = new LmdbTable(database, writer, (key) => damaged.push(key));
  const streams = new LmdbTable(root.openDB('streams', { encoding: 'binary' }), writer, () => {});
  const log = new EventsInTables(events, streams);
  const first = await log.open('s', 'good');
  await log.open('s', 'bad');
  for (let n = 0; n < 150; n += 1) {
    await log.append('s', 'bad', notification('bad'));
    await log.append('s', 'good', notification(`${n}`));
  }
  const keys = [...database.getKeys()].filter((_, n) => n % 2 === 0 && n > 0);
  for (const key of keys) database.putSync(key, Buffer.from('damaged'));
  const again = new EventsInTables(events, streams);
  const read: unknown[] = [];
  for await (const { message } of again.after('s', first)) read.push((message as { method: string }).method);
  expect(read).toEqual(Array.from({ length: 150 }, (_, n) => `${n}`));
  expect(damaged).toContain(keys[0]);
  await again.drop('s');
  expect([...database.getKeys()]).toEqual([]);
});
