import { expect, test } from 'vitest';
import { aborted, deferred, scripted, settled } from '../../../../test/support/service.ts';
import { opened } from '../../../../test/support/wire.ts';

const cancel = (requestId: unknown, reason?: unknown) => ({
  method: 'notifications/cancelled',
  params: { requestId, reason },
});
const asking = scripted({
  ask: (exchange) => exchange.ask('roots/list', {}),
  wait: ({ signal }) => aborted(signal).then(() => ({ late: true })),
});

test('a cancelled request is aborted and not answered', async () => {
  const { client } = await opened(asking.service);
  await client.send({ id: 1, method: 'wait' });
  const { signal } = asking.seen.at(-1)!;
  await client.send(cancel(1, 'no need'));
  expect(signal.aborted).toBe(true);
  expect(String(signal.reason)).toContain('no need');
  expect(client.take()).toEqual([]);
  expect(await client.request(1, 'echo')).toMatchObject({ id: 1, result: {} });
});

test('a cancelled request sends no more messages', async () => {
  const go = deferred();
  const { service } = scripted({
    work: async (exchange) => {
      await go.promise;
      await exchange.notify('notifications/progress', { progressToken: 1, progress: 1 });
      await exchange.notify('notifications/message', { level: 'info', data: 1 });
      return {};
    },
  });
  const { client } = await opened(service);
  await client.send({ id: 1, method: 'work' }, cancel(1));
  go.resolve();
  await settled();
  expect(client.take()).toEqual([]);
});

test.each([99, '1', null, {}, undefined])(
  'a cancellation of the id %j, which is not in flight, is ignored',
  async (id) => {
    const { client, errors } = await opened(asking.service);
    await client.send({ id: 1, method: 'wait' }, cancel(id));
    expect(asking.seen.at(-1)!.signal.aborted).toBe(false);
    expect(errors).toEqual([]);
  },
);

test('a cancellation after the answer is ignored', async () => {
  const { client, errors } = await opened(asking.service);
  expect(await client.request(1, 'echo')).toMatchObject({ id: 1, result: {} });
  await client.send(cancel(1));
  expect(client.take()).toEqual([]);
  expect(asking.seen.at(-1)!.signal.aborted).toBe(false);
  expect(errors).toEqual([]);
});

test('a cancellation after the response does not affect another request', async () => {
  const { service, seen } = scripted({ wait: ({ signal }) => aborted(signal).then(() => ({})) });
  const { client, errors } = await opened(service);
  expect(await client.request(1, 'echo')).toMatchObject({ id: 1, result: {} });
  const answered = seen.at(-1)!;
  await client.send(cancel(1), { id: 2, method: 'wait' }, cancel(1));
  expect(client.take()).toEqual([]);
  expect(errors).toEqual([]);
  expect([answered.signal.aborted, seen.at(-1)!.signal.aborted]).toEqual([false, false]);
  expect(await client.request(1, 'echo')).toMatchObject({ id: 1, result: {} });
});

test('cancelling a call cancels its question, and a late answer is ignored', async () => {
  const { client, errors } = await opened(asking.service, { capabilities: { roots: {} } });
  await client.send({ id: 1, method: 'ask' });
  const question = client.next();
  expect(question).toEqual({ jsonrpc: '2.0', id: expect.anything(), method: 'roots/list', params: {} });
  await client.send(cancel(1, 'enough'));
  expect(client.next()).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: question.id, reason: expect.stringContaining('enough') },
  });
  await client.send({ id: question.id, result: { roots: [] } });
  expect(client.take()).toEqual([]);
  expect(errors).toEqual([]);
  await client.send({ id: 99, result: {} });
  expect(errors.map(({ message }) => message)).toEqual(['A response came for 99, but no request with this id is open']);
});

test('a service can cancel its question', async () => {
  const controller = new AbortController();
  const { service } = scripted({
    work: (exchange) =>
      exchange
        .ask('roots/list', {}, { signal: controller.signal })
        .catch((error: Error) => ({ failed: error.message })),
  });
  const { client } = await opened(service, { capabilities: { roots: {} } });
  await client.send({ id: 1, method: 'work' });
  const question = client.next();
  controller.abort(new Error('changed my mind'));
  await settled();
  expect(client.take()).toEqual([
    {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: question.id, reason: 'changed my mind' },
    },
    { jsonrpc: '2.0', id: 1, result: { failed: 'changed my mind' } },
  ]);
});

test('a connection that closes ends its requests', async () => {
  const { service, seen } = scripted({
    wait: ({ signal }) => aborted(signal).then(() => ({})),
    ask: (exchange) => exchange.ask('roots/list', {}),
  });
  const { client } = await opened(service, { capabilities: { roots: {} } });
  await client.send({ id: 1, method: 'wait' }, { id: 2, method: 'ask' });
  await client.transport.close();
  await expect.poll(() => seen.slice(-2).map(({ signal }) => signal.aborted)).toEqual([true, true]);
  await expect(seen.at(-1)!.ask('roots/list', {})).rejects.toThrow('has ended');
  await seen.at(-1)!.notify('notifications/message', {});
});
