import { expect, test } from 'vitest';
import { TestExchange } from '../../../test/support/exchange.ts';
import { deferred, settled } from '../../../test/support/service.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { UpstreamListeners } from './upstream-listeners.ts';

const params = { notifications: { resourceSubscriptions: ['x://y'] } };
const capabilities = { resources: { subscribe: true } };

/** Somebody who listens to a resource; whether the server hears that nobody does any more is in `gone`. */
async function listening() {
  const errors: Error[] = [];
  const sent: string[] = [];
  const gone = deferred<JsonObject>();
  const request = (method: string): Promise<JsonObject> => {
    sent.push(method);
    return method === 'resources/unsubscribe' ? gone.promise : Promise.resolve({});
  };
  const listeners = new UpstreamListeners(request, (error) => void errors.push(error));
  const exchange = new TestExchange('subscriptions/listen', params);
  const over = listeners.listen(exchange, capabilities);
  await settled();
  return { errors, sent, gone, listeners, exchange, over };
}

test('a server that does not let go of a subscription is reported', async () => {
  const { errors, sent, gone, exchange, over } = await listening();
  exchange.abort();
  await settled();
  gone.reject(new Error('never heard of it'));
  expect(await over).toEqual({});
  expect(sent).toEqual(['resources/subscribe', 'resources/unsubscribe']);
  expect(errors.map(({ message }) => message)).toEqual(['never heard of it']);
});

test('one whose connection ends meanwhile is not', async () => {
  const { errors, gone, listeners, exchange, over } = await listening();
  exchange.abort();
  await settled();
  listeners.retire();
  gone.reject(new Error('The connection is closed'));
  expect(await over).toEqual({});
  expect(errors).toEqual([]);
});

test('and one whose connection is about to end is not told', async () => {
  const { sent, listeners, exchange, over } = await listening();
  listeners.retire();
  exchange.abort();
  expect(await over).toEqual({});
  expect(sent).toEqual(['resources/subscribe']);
});
