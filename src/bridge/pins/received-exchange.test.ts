import { setMaxListeners } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { TestExchange } from '../../../test/support/exchange.ts';
import { settled } from '../../../test/support/service.ts';
import type { Bus } from '../../store/bus.ts';
import { NoticeQueue } from '../../wire/notice-queue.ts';
import { ReceivedExchange } from './received-exchange.ts';

const MiB = 1024 * 1024;

test('notifications that another process does not take need at most 256 MiB for all exchanges', async () => {
  let calls = 0;
  const call: Bus['call'] = (_to, _kind, _body, { signal } = {}) =>
    new Promise((_, reject) => {
      calls += 1;
      signal!.addEventListener('abort', () => reject(signal!.reason as Error));
    });
  const bus: Bus = {
    call,
    send: async () => true,
    sendToAll: async () => {},
    on: () => () => {},
    answer: () => () => {},
  };
  const ended = new AbortController();
  setMaxListeners(Infinity, ended.signal);
  onTestFinished(async () => {
    ended.abort(new Error('over'));
    await settled();
  });
  const { caller } = new TestExchange('tools/call');
  const data = 'x'.repeat(4 * MiB);
  let kept = 0;
  for (let id = 0; id < 80; id += 1) {
    const request = { key: 'k', id, back: 'back', method: 'tools/call', params: {}, caller: {} };
    const parts = { bus, onerror: () => {} };
    const exchange = new ReceivedExchange(parts, request, caller, { from: 'other', signal: ended.signal });
    const notify = exchange.notify.bind(exchange);
    exchange.notify = (method, params) => {
      kept += String(params!['data']).length;
      return notify(method, params);
    };
    const queue = new NoticeQueue(exchange, () => {});
    for (let n = 0; n < 3; n += 1) queue.push('notifications/message', { data });
    queue.flush();
  }
  await settled();
  expect(kept).toBeLessThanOrEqual(256 * MiB);
  expect(calls).toBeGreaterThan(0);
});
