import { expect, test } from 'vitest';
import { deferred, scripted } from '../../../../test/support/service.ts';
import { opened } from '../../../../test/support/wire.ts';

const PROGRESS = 'notifications/progress';

test('progress reaches the service only with the token of an open question to the same client', async () => {
  const over = deferred();
  const { service, seen } = scripted({
    work: (exchange) => exchange.ask('roots/list', { _meta: { progressToken: 'mine' } }),
    other: () => over.promise.then(() => ({})),
    [PROGRESS]: () => ({}),
  });
  const { client } = await opened(service, { capabilities: { roots: {} } });
  const { client: stranger } = await opened(service, { capabilities: { roots: {} } });
  await client.send({ method: 'notifications/initialized' });
  await stranger.send({ method: 'notifications/initialized' }, { id: 1, method: 'other' });
  await client.send({ id: 1, method: 'work' });
  const question = client.take().find((message) => 'method' in message && message.method === 'roots/list')!;
  const progressMessages = (): unknown[] =>
    seen.filter(({ method }) => method === PROGRESS).map(({ params }) => params['message']);

  await stranger.send({ method: PROGRESS, params: { progressToken: 'mine', progress: 1, message: 'not mine' } });
  await client.send({ method: PROGRESS, params: { progressToken: 'mine', progress: 1, message: 'open' } });
  await client.send({ method: PROGRESS, params: { progressToken: 'none', progress: 1, message: 'unknown' } });
  await client.send({ id: 'id' in question ? question.id : undefined, result: { roots: [] } });
  await client.send({ method: PROGRESS, params: { progressToken: 'mine', progress: 2, message: 'late' } });
  expect(progressMessages()).toEqual(['open']);
  over.resolve();
});
