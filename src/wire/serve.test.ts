import { expect, test } from 'vitest';
import { scripted } from '../../test/support/service.ts';
import { countTurns } from '../../test/support/turns.ts';
import type { Transport } from '../transport/transport.ts';
import { createInbound } from './serve.ts';

test('a connection that failed to open is forgotten', async () => {
  const inbound = createInbound(scripted().service);
  let closes = 0;
  const broken: Transport = {
    start: () => Promise.reject(new Error('no such port')),
    send: () => Promise.resolve(),
    close: async () => void (closes += 1),
  };
  await expect(inbound.connect(broken)).rejects.toThrow('no such port');
  await inbound.close();
  expect(closes).toBe(0);
});

test('thousands of connections close in several turns of the event loop', async () => {
  const inbound = createInbound(scripted().service);
  const turnOf: number[] = [];
  const count = countTurns();
  const open = (): Transport => ({
    start: () => Promise.resolve(),
    send: () => Promise.resolve(),
    close: async () => void turnOf.push(count()),
  });
  for (let opened = 0; opened < 2000; opened += 1) await inbound.connect(open());
  await inbound.close();
  expect(turnOf).toHaveLength(2000);
  expect(new Set(turnOf).size).toBeGreaterThan(2);
});
