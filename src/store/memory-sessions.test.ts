import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { sessionStoreSuite } from '../testing/contracts/session-store-suite.ts';
import { IndexedSessions, memorySessionStore, type SessionTexts } from './memory-sessions.ts';
import { IN_USE } from './session-store.ts';

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

test('with many small shares, those in use are kept, and a full store stays fast', async () => {
  const clock = { now: 0 };
  const sessions = memorySessionStore({ maxSessions: 20_000, now: () => clock.now });
  for (let n = 0; n < 20_000; n += 1) await sessions.put(`s${n}`, { share: `${n}`, initialize: {} });
  clock.now += IN_USE;
  await sessions.touch(['s0']);
  for (let n = 0; n < 19_999; n += 1) await sessions.put(`t${n}`, { share: `t${n}`, initialize: {} });
  expect(await sessions.get('s0')).toBeDefined();
  await expect(sessions.put('u', { share: 'u', initialize: {} })).rejects.toThrow('all other sessions are in use');
  expect(await sessions.get('t0')).toBeDefined();
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
