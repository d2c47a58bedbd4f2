import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { notification } from '../../jsonrpc/message.ts';
import { EventsInTables } from '../tables/events.ts';
import type { Table } from '../tables/table.ts';
import { LmdbTable } from './lmdb-table.ts';
import { openDatabase } from './open-database.ts';
import { Writer } from './writer.ts';

async function openTables() {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-table-'));
  const root = await openDatabase(path.join(folder, 'state.mdb'));
  onTestFinished(async () => {
    await root.close();
    rmSync(folder, { recursive: true });
  });
  const writer = new Writer(root, path.join(folder, 'state.mdb'));
  const database = root.openDB<Buffer, string>('events', { encoding: 'binary' });
  const damaged: string[] = [];
  const events = new LmdbTable(database, writer, (key) => damaged.push(key));
  const streams = new LmdbTable(root.openDB('streams', { encoding: 'binary' }), writer, () => {});
  return { database, damaged, events, streams };
}

test('damaged events of one stream do not hide those of another', async () => {
  const { database, damaged, events, streams } = await openTables();
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

test('other work goes on while a stream with few events among many of others is read', async () => {
  const { events, streams } = await openTables();
  const log = new EventsInTables(events, streams);
  const first = await log.open('s', 'few');
  const writes: Promise<unknown>[] = [];
  for (let n = 0; n < 5000; n += 1) writes.push(log.append('s', 'many', notification(`${n}`)));
  await Promise.all(writes);
  await log.append('s', 'few', notification('last'));
  let turns = 0;
  const count = (): void => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  onTestFinished(() => clearImmediate(counting));
  const read: unknown[] = [];
  for await (const { message } of log.after('s', first)) read.push((message as { method: string }).method);
  expect(read).toEqual(['last']);
  expect(turns).toBeGreaterThan(20);
});

test('a page of large events is not read whole', async () => {
  const { events, streams } = await openTables();
  let read = 0;
  const counted: Table = {
    maxTextBytes: events.maxTextBytes,
    read: (key) => events.read(key),
    write: (key, text) => events.write(key, text),
    remove: (key) => events.remove(key),
    keys: (range) => events.keys(range),
    *range(range) {
      for (const entry of events.range(range)) {
        read += entry[1].length;
        yield entry;
      }
    },
  };
  const log = new EventsInTables(counted, streams);
  const first = await log.open('s', 'a');
  for (let n = 0; n < 50; n += 1) await log.append('s', 'a', notification('n', { text: 'x'.repeat(50_000) }));
  read = 0;
  for await (const { message } of log.after('s', first)) if (message) break;
  expect(read).toBeLessThan(500_000);
});

test('many sessions that end together are removed in several turns of the event loop', async () => {
  const { database, events, streams } = await openTables();
  let inTurn = 0;
  let most = 0;
  const counted: Table = {
    maxTextBytes: events.maxTextBytes,
    read: (key) => events.read(key),
    write: (key, text) => events.write(key, text),
    remove: (key) => {
      if (inTurn === 0) setImmediate(() => (inTurn = 0));
      inTurn += 1;
      most = Math.max(most, inTurn);
      return events.remove(key);
    },
    keys: (range) => events.keys(range),
    range: (range) => events.range(range),
  };
  const log = new EventsInTables(counted, streams);
  const sessions = Array.from({ length: 10 }, (_, n) => `s${n}`);
  for (const session of sessions)
    await Promise.all(Array.from({ length: 900 }, () => log.append(session, 'a', notification('n'))));
  await Promise.all(sessions.map((session) => log.drop(session)));
  expect(database.getCount()).toBe(0);
  expect(most).toBeLessThanOrEqual(1000);
});
