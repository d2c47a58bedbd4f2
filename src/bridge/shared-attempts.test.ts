import { expect, onTestFinished, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { deferred, scripted } from '../../test/support/service.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import { serve } from '../wire/serve.ts';
import { createBridge } from './bridge.ts';

function start() {
  const state = { down: true, unreachable: true, attempts: 0, gate: Promise.resolve() };
  const { service } = scripted({ 'tools/call': () => ({ content: [] }) });
  const bridge = createBridge({
    target: () => {
      state.attempts += 1;
      if (state.down) throw Object.assign(new Error(`refused ${state.attempts}`), { unreachable: state.unreachable });
      const [near, far] = memoryTransportPair();
      const { gate } = state;
      const begin = near.start.bind(near);
      near.start = () => gate.then(begin);
      void serve(service, far, { eras: 'legacy' });
      return near;
    },
  });
  onTestFinished(() => bridge.close());
  /** A call of a new session. */
  const call = () => {
    const session = { id: 's', signal: new AbortController().signal };
    return bridge.service(new TestExchange('tools/call', { name: 'a' }, { caller: { session } }));
  };
  const callAll = () => Promise.allSettled(Array.from({ length: 90 }, call));
  return { state, call, callAll };
}

test('clients that come together to a server that is down make few attempts to reach it', async () => {
  const { state, call, callAll } = start();
  await expect(call()).rejects.toThrow('refused 1');
  for (const result of await callAll())
    expect(result).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('refused') } });
  expect(state.attempts).toBeLessThan(20);
  state.down = false;
  for (const result of await callAll()) expect(result).toEqual({ status: 'fulfilled', value: expect.anything() });
});

test('an error that may be about one client is not that of the others', async () => {
  const { state, call, callAll } = start();
  state.unreachable = false;
  await expect(call()).rejects.toThrow('refused 1');
  for (const result of await callAll()) expect(result).toMatchObject({ status: 'rejected' });
  expect(state.attempts).toBe(91);
});

test('an attempt that does not end keeps other clients only for a moment', async () => {
  const { state, call } = start();
  await expect(call()).rejects.toThrow('refused');
  const { promise, resolve } = deferred();
  state.gate = promise;
  state.down = false;
  const first = call();
  await expect.poll(() => state.attempts, { timeout: 30_000 }).toBe(2);
  state.gate = Promise.resolve();
  await call();
  expect(state.attempts).toBe(3);
  resolve();
  await first;
});
