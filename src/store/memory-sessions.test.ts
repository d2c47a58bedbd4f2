import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
import { sessionStoreSuite } from '../testing/contracts/session-store-suite.ts';
import { IndexedSessions, memorySessionStore, type SessionTexts } from './memory-sessions.ts';
import type { Place } from './session-index.ts';
import { SessionStoreFull, type SessionStoreOptions } from './session-store.ts';

describe('the contract', () => {
  for (const { name, run } of sessionStoreSuite((bounds) => memorySessionStore(bounds))) test(name, run);
});

test.each(['maxSessions', 'maxRecordBytes', 'maxBytes', 'maxAge'])('%s must be a number of at least 0', (name) => {
  for (const bound of [-1, Number.NaN]) {
    expect(() => memorySessionStore({ [name]: bound })).toThrow(`${name} must be 0 or more, not ${bound}`);
  }
});

test('only a new session writes a record, which may be large', async () => {
  const writes: SessionTexts[] = [];
  const sessions = new IndexedSessions(
    {},
    {
      record: () => undefined,
      settings: () => undefined,
      write: async (_id, texts) => void writes.push(texts),
      remove: async () => {},
    },
  );
  await sessions.put('s', { initialize: { text: 'x'.repeat(100_000) } });
  await sessions.touch(['s']);
  await sessions.change('s', () => ({ logLevel: 'error' }));
  expect(writes.slice(1)).toEqual([{}, { settings: '{"logLevel":"error"}' }]);
});

test('a failed write while thousands of sessions are noted as used is the error of that call only', async () => {
  const unhandled = vi.fn<(error: unknown) => void>();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const sessions = new IndexedSessions(
    {},
    {
      record: () => '{}',
      settings: () => undefined,
      write: () => Promise.reject(new Error('No space left on device')),
      remove: () => Promise.resolve(),
    },
  );
  const ids = Array.from({ length: 2000 }, (_, n) => `s${n}`);
  for (const id of ids) sessions.restore(id, { share: '', usedAt: Date.now(), recordBytes: 2, settingsBytes: 0 });
  await expect(sessions.touch(ids)).rejects.toThrow('No space left on device');
  await new Promise(setImmediate);
  expect(unhandled).not.toHaveBeenCalled();
});

/** Sessions with texts that the test sees, and a clock that begins at 0. */
function indexed(options: SessionStoreOptions = {}) {
  const clock = { now: 0 };
  const records = new Map<string, string>();
  const settings = new Map<string, string>();
  const writes: { readonly id: string; readonly texts: SessionTexts; readonly place: Place }[] = [];
  const removed: string[] = [];
  const disk: { failure?: Error } = {};
  const sessions = new IndexedSessions(
    { now: () => clock.now, ...options },
    {
      record: (id) => records.get(id),
      settings: (id) => settings.get(id),
      write: async (id, texts, place) => {
        if (disk.failure) throw disk.failure;
        if (texts.record !== undefined) records.set(id, texts.record);
        if (texts.settings !== undefined) settings.set(id, texts.settings);
        writes.push({ id, texts, place });
      },
      remove: async (id) => {
        if (disk.failure) throw disk.failure;
        records.delete(id);
        settings.delete(id);
        removed.push(id);
      },
    },
  );
  return { sessions, clock, records, settings, writes, removed, disk };
}

const place = (usedAt: number, changes: Partial<Place> = {}): Place => ({
  share: '',
  usedAt,
  recordBytes: 2,
  settingsBytes: 0,
  ...changes,
});

test('what is written says when a session was used, how large it is and who it counts towards', async () => {
  const { sessions, clock, writes } = indexed();
  clock.now = 5;
  await sessions.put('s', { share: 'ann', initialize: { name: 'ü' }, logLevel: 'error' });
  await sessions.put('t', { initialize: {} });
  clock.now = 6;
  await sessions.change('t', () => ({ logLevel: 'ü' }));
  expect(writes).toEqual([
    {
      id: 's',
      texts: { record: '{"share":"ann","initialize":{"name":"ü"}}', settings: '{"logLevel":"error"}' },
      place: { share: 'ann', usedAt: 5, recordBytes: 42, settingsBytes: 20 },
    },
    { id: 't', texts: { record: '{"initialize":{}}' }, place: place(5, { recordBytes: 17 }) },
    { id: 't', texts: { settings: '{"logLevel":"ü"}' }, place: place(5, { recordBytes: 17, settingsBytes: 17 }) },
  ]);
});

test('a record may have exactly the size of the limit, together with its settings', async () => {
  const { sessions } = indexed({ maxRecordBytes: 37 });
  await sessions.put('s', { initialize: {}, logLevel: 'error' });
  const refusal = new SessionStoreFull('The record of a session must not be larger than 37 bytes');
  await expect(sessions.put('t', { initialize: {}, logLevel: 'errors' })).rejects.toEqual(refusal);
  await expect(sessions.change('s', () => ({ logLevel: 'errors' }))).rejects.toEqual(refusal);
  expect(await sessions.get('s')).toEqual({ initialize: {}, logLevel: 'error' });
});

test('by default, a session is used at the time of the day', async () => {
  vi.useFakeTimers({ now: 1000, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const sessions = memorySessionStore({ maxAge: 100 });
  await sessions.put('s', { initialize: {} });
  vi.setSystemTime(1100);
  expect(await sessions.get('s')).toBeDefined();
  vi.setSystemTime(1101);
  expect(await sessions.get('s')).toBeUndefined();
});

test('a restored session is continued, except if its record or its settings are lost', async () => {
  const { sessions, records, settings } = indexed();
  for (const id of ['whole', 'plain', 'no-record', 'no-settings', 'changed'])
    sessions.restore(id, place(0, { settingsBytes: id === 'plain' ? 0 : 20 }));
  for (const id of ['whole', 'plain', 'no-settings', 'changed']) records.set(id, '{"initialize":{}}');
  for (const id of ['whole', 'no-record', 'changed']) settings.set(id, '{"logLevel":"error"}');
  expect(sessions.size).toBe(5);
  expect(await sessions.get('whole')).toEqual({ initialize: {}, logLevel: 'error' });
  expect(await sessions.get('plain')).toEqual({ initialize: {} });
  expect(await sessions.get('no-record')).toBeUndefined();
  expect(await sessions.get('no-settings')).toBeUndefined();
  expect(await sessions.change('no-settings', () => expect.unreachable())).toBeUndefined();
  expect(await sessions.change('changed', (before) => ({ ...before, resources: ['a:1'] }))).toEqual({
    logLevel: 'error',
    resources: ['a:1'],
  });
});

test('whether a session is there, and how many there are', async () => {
  const { sessions } = indexed();
  await sessions.put('s', { initialize: {} });
  expect([sessions.has('s'), sessions.has('t'), sessions.size]).toEqual([true, false, 1]);
  await sessions.delete('s');
  expect([sessions.has('s'), sessions.size]).toEqual([false, 0]);
});

test('each new session removes expired ones, at most a hundred, and none that may still be used', async () => {
  const { sessions, clock, removed } = indexed({ maxAge: 1000 });
  const ids = Array.from({ length: 150 }, (_, n) => `s${n}`);
  for (const id of ids) sessions.restore(id, place(0));
  sessions.restore('recent', place(1));
  clock.now = 1000;
  await sessions.put('a', { initialize: {} });
  expect(removed).toEqual([]);
  clock.now = 1001;
  await sessions.put('b', { initialize: {} });
  expect(removed).toEqual(ids.slice(0, 100));
  await sessions.put('c', { initialize: {} });
  expect(removed).toEqual(ids);
  expect([sessions.size, sessions.has('recent')]).toEqual([4, true]);
});

test('all expired sessions are removed at once on request, except one that came back meanwhile', async () => {
  const { sessions, clock, removed } = indexed({ maxAge: 1000 });
  const ids = Array.from({ length: 2000 }, (_, n) => `s${n}`);
  for (const id of ids) sessions.restore(id, place(0));
  sessions.restore('recent', place(1));
  clock.now = 1001;
  const expired = sessions.expire();
  await sessions.put('s1999', { initialize: {} });
  await expired;
  expect(new Set(removed)).toEqual(new Set(ids.slice(0, -1)));
  expect([sessions.size, sessions.has('recent'), sessions.has('s1999')]).toEqual([2, true, true]);
});

test('a session that is used is written with the time, and an expired one is not used', async () => {
  const { sessions, clock, writes } = indexed({ maxAge: 1000 });
  sessions.restore('old', place(0));
  sessions.restore('s', place(1));
  clock.now = 1001;
  await sessions.touch(['old', 's', 'unknown']);
  expect(writes).toEqual([{ id: 's', texts: {}, place: place(1001) }]);
  clock.now = 2001;
  await sessions.expire();
  expect([sessions.has('old'), sessions.has('s')]).toEqual([false, true]);
});

test('a session keeps its settings when it is used', async () => {
  const sessions = memorySessionStore();
  await sessions.put('s', { initialize: {}, logLevel: 'error' });
  await sessions.touch(['s']);
  expect(await sessions.get('s')).toEqual({ initialize: {}, logLevel: 'error' });
});

test('a store whose sessions are all in use says that it has no room', async () => {
  const { sessions } = indexed({ maxSessions: 2 });
  await sessions.put('a', { share: 'ann', initialize: {} });
  await sessions.put('b', { share: 'bob', initialize: {} });
  const refusal = new SessionStoreFull('The store has no room: all other sessions are in use');
  await expect(sessions.put('c', { share: 'cat', initialize: {} })).rejects.toEqual(refusal);
});

test('a session is removed from the texts once', async () => {
  const { sessions, removed } = indexed();
  await sessions.put('s', { initialize: {} });
  await sessions.delete('s');
  await sessions.delete('s');
  await sessions.delete('unknown');
  expect(removed).toEqual(['s']);
});

test('if the texts cannot be written, the sessions stay as they were', async () => {
  const { sessions, disk } = indexed();
  await sessions.put('s', { initialize: {}, logLevel: 'error' });
  disk.failure = new Error('No space left on device');
  await expect(sessions.put('t', { initialize: {} })).rejects.toBe(disk.failure);
  await expect(sessions.change('s', () => ({}))).rejects.toBe(disk.failure);
  await expect(sessions.delete('s')).rejects.toBe(disk.failure);
  expect([sessions.has('s'), sessions.has('t'), sessions.size]).toEqual([true, false, 1]);
  expect(await sessions.get('s')).toEqual({ initialize: {}, logLevel: 'error' });
});

test('a session makes room even if its texts cannot be removed now', async () => {
  const unhandled = vi.fn<(error: unknown) => void>();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const { sessions, clock, disk } = indexed({ maxAge: 1000 });
  sessions.restore('s', place(0));
  clock.now = 1001;
  disk.failure = new Error('No space left on device');
  await sessions.expire();
  await new Promise(setImmediate);
  expect(sessions.has('s')).toBe(false);
  expect(unhandled).not.toHaveBeenCalled();
});

test('the texts of removed sessions take no memory', async () => {
  const collect = garbageCollector();
  const sessions = memorySessionStore({ maxRecordBytes: 1_000_000, maxSessions: 1 });
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 200; n += 1) {
    const text = `${n}`.padEnd(100_000, 'x');
    await sessions.put(`s${n}`, { initialize: { text }, resources: [text] });
  }
  collect();
  // All records together would be 20 MB, and all settings too.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
  expect(await sessions.get('s199')).toBeDefined();
});
