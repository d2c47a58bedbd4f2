import { expect, test } from 'vitest';
import { scripted, unhandled } from '../../../test/support/service.ts';
import { opened } from '../../../test/support/wire.ts';
import type { Exchange } from '../../core/exchange.ts';

// No transport takes it: parameters are objects.
const lost = (exchange: Exchange): Promise<void> => exchange.notify('notifications/vendor', [] as never);

test('a notification that is lost and that nobody awaits is reported, and ends nothing', async () => {
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

test('nor do many in one go', async () => {
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

test('whoever awaits a notification hears that it is lost', async () => {
  const { service } = scripted({ work: (exchange) => lost(exchange).then(() => ({})) });
  const { client } = await opened(service);
  expect(await client.request(1, 'work')).toMatchObject({
    error: { message: expect.stringContaining('"params" must be an object') },
  });
});
