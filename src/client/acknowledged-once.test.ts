import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { acknowledgedOnce } from './acknowledged-once.ts';

test('a caller gets the first acknowledgement, and a notification of possible changes after each later one', async () => {
  const exchange = new TestExchange('subscriptions/listen');
  const notify = acknowledgedOnce(exchange);
  const notifications = { toolsListChanged: true, promptsListChanged: false, resourceSubscriptions: ['x:1'] };
  const delivered = async (method: string, params?: JsonObject): Promise<unknown[]> => {
    exchange.notified.length = 0;
    await notify(`notifications/${method}`, params);
    return exchange.notified.map((each) => [each.method.replace('notifications/', ''), each.params]);
  };
  const acknowledged = ['subscriptions/acknowledged', { notifications }];
  expect(await delivered('message', { data: 'x' })).toEqual([['message', { data: 'x' }]]);
  expect(await delivered('subscriptions/acknowledged', { notifications })).toEqual([acknowledged]);
  expect(await delivered('tools/list_changed')).toEqual([['tools/list_changed', undefined]]);
  for (let count = 0; count < 2; count += 1) {
    expect(await delivered('subscriptions/acknowledged', { notifications })).toEqual([
      ['tools/list_changed', {}],
      ['resources/updated', { uri: 'x:1' }],
    ]);
  }
  expect(await delivered('subscriptions/acknowledged')).toEqual([]);
});
