import { expect, test } from 'vitest';
import { memorySessionStore } from './memory-sessions.ts';
import { IN_USE } from './session-store.ts';

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
