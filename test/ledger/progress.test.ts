import { expect, test } from 'vitest';
import { LEGACY_REVISIONS } from '../../src/protocol/revisions.ts';
import { scripted } from '../support/service.ts';
import { opened } from '../support/wire.ts';

test.each(LEGACY_REVISIONS)('in %s a request sends no progress after its response', async (revision) => {
  const { service, seen } = scripted({
    work: async (exchange) => {
      await exchange.notify('notifications/progress', { progressToken: 't', progress: 1 });
      return {};
    },
  });
  const { client } = await opened(service, { revision });
  await client.send({ id: 1, method: 'work', params: { _meta: { progressToken: 't' } } });
  expect(client.take()).toEqual([
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 't', progress: 1 } },
    { jsonrpc: '2.0', id: 1, result: {} },
  ]);
  const exchange = seen.at(-1)!;
  await exchange.notify('notifications/progress', { progressToken: 't', progress: 2 });
  await exchange.notify('notifications/message', { level: 'info', data: 'later' });
  expect(client.take()).toEqual([
    { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'later' } },
  ]);
});
