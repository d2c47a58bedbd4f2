import { expect, test } from 'vitest';
import { scripted } from '../../test/support/service.ts';
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
