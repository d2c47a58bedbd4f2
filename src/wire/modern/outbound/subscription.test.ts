import { expect, test } from 'vitest';
import { TestExchange } from '../../../../test/support/exchange.ts';
import { deferred, settled } from '../../../../test/support/service.ts';
import { NoticeQueue } from '../../notice-queue.ts';
import { subscribe } from './subscription.ts';

test('the acknowledgement is sent even if other clients read too slowly', async () => {
  const gate = deferred();
  const data = 'x'.repeat(8 * 1024 * 1024);
  for (let n = 0; n < 32; n += 1) {
    const exchange = new TestExchange('tools/call', {}, { onnotify: () => gate.promise });
    new NoticeQueue(exchange, () => {}).push('notifications/message', { data });
  }
  const resourceSubscriptions = Array.from({ length: 1000 }, (_, n) => `x://${'x'.repeat(200)}/${n}`);
  const exchange = new TestExchange('subscriptions/listen', { notifications: { resourceSubscriptions } });
  const acknowledgement = { method: 'notifications/subscriptions/acknowledged' } as const;
  await subscribe(
    exchange,
    async (_, onnotification) => {
      onnotification({ jsonrpc: '2.0', ...acknowledgement, params: { notifications: { resourceSubscriptions } } });
      return {};
    },
    { timeout: 0, onchange: () => {}, onerror: () => {} },
  );
  expect(exchange.notified).toEqual([{ ...acknowledgement, params: { notifications: { resourceSubscriptions } } }]);
  gate.resolve();
  await settled();
});
