import { expect, test, vi } from 'vitest';
import { garbageCollector } from '../../../../test/support/garbage-collector.ts';
import { deferred, scripted, settled, unhandled } from '../../../../test/support/service.ts';
import { opened } from '../../../../test/support/wire.ts';
import type { Exchange } from '../../../core/exchange.ts';

// No transport accepts it, because parameters must be objects.
const lost = (exchange: Exchange): Promise<void> => exchange.notify('notifications/vendor', [] as never);

test('a notification that is lost and not awaited is reported, and causes no unhandled rejection', async () => {
  const rejections = unhandled();
  const { service } = scripted({
    work: (exchange) => {
      void lost(exchange);
      return {};
    },
    'notifications/note': (exchange) => {
      void lost(exchange);
      return {};
    },
  });
  const { client, errors } = await opened(service);
  expect(await client.request(1, 'work')).toMatchObject({ result: {} });
  await client.send({ method: 'notifications/note' });
  expect(await rejections()).toEqual([]);
  expect(errors.map(String)).toEqual(Array(2).fill(expect.stringContaining('"params" must be an object')));
});

test('many lost notifications cause no unhandled rejection', async () => {
  const rejections = unhandled();
  const { service } = scripted({
    work: (exchange) => {
      for (let n = 0; n < 300; n += 1) void lost(exchange);
      return {};
    },
  });
  const { client, errors } = await opened(service);
  expect(await client.request(1, 'work')).toMatchObject({ result: {} });
  expect(await rejections()).toEqual([]);
  expect(errors).toHaveLength(300);
});

test('a lost notification rejects for a handler that awaits it', async () => {
  const { service } = scripted({ work: (exchange) => lost(exchange).then(() => ({})) });
  const { client } = await opened(service);
  expect(await client.request(1, 'work')).toMatchObject({
    error: { message: expect.stringContaining('"params" must be an object') },
  });
});

test('a long request keeps nothing of its answered questions', async () => {
  const collect = garbageCollector();
  const signals: WeakRef<AbortSignal>[] = [];
  const go = deferred();
  const ask = async (exchange: Exchange): Promise<void> => {
    const { signal } = new AbortController();
    signals.push(new WeakRef(signal));
    await exchange.ask('roots/list', {}, { signal });
  };
  const { service } = scripted({ work: (exchange) => ask(exchange).then(() => go.promise.then(() => ({}))) });
  const { client } = await opened(service, { capabilities: { roots: {} } });
  await client.send({ id: 1, method: 'work' });
  await client.send({ id: client.next().id, result: { roots: [] } });
  await vi.waitFor(() => {
    collect();
    expect(signals.map((signal) => signal.deref() === undefined)).toEqual([true]);
  });
  go.resolve();
  await settled();
  expect(client.take()).toMatchObject([{ id: 1, result: {} }]);
});
