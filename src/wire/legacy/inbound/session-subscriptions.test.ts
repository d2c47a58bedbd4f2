import { expect, test } from 'vitest';
import { aborted, deferred, listening, scripted, settled } from '../../../../test/support/service.ts';
import { opened } from '../../../../test/support/wire.ts';
import type { Exchange } from '../../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { CONNECTION_CLOSED } from '../../../jsonrpc/pending.ts';
import { LOG_LEVELS } from '../../../protocol/logging.ts';

const capabilities = { logging: {}, resources: { subscribe: true } };
const uri = 'x://y';

function listenable(methods = {}): ReturnType<typeof scripted> & { subscribers: Exchange[] } {
  const subscribers: Exchange[] = [];
  return { subscribers, ...scripted({ 'subscriptions/listen': listening(subscribers), ...methods }, capabilities) };
}

const log = (level: string) => ({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: level } });

test('a session subscribes after initialization, and gets the service’s changes', async () => {
  const { service, subscribers } = listenable();
  const { client } = await opened(service);
  await client.send({ method: 'notifications/initialized' });
  expect(subscribers.map(({ params }) => params)).toEqual([
    { notifications: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true } },
  ]);
  await subscribers[0]!.notify('notifications/tools/list_changed');
  await subscribers[0]!.notify('notifications/vendor', {
    a: 1,
    _meta: { 'io.modelcontextprotocol/subscriptionId': 's', mine: 1 },
  });
  await subscribers[0]!.notify('notifications/vendor', { _meta: { 'io.modelcontextprotocol/subscriptionId': 's' } });
  await settled();
  // Clients of these revisions get neither the acknowledgement nor the subscription id.
  expect(client.take()).toEqual([
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
    { jsonrpc: '2.0', method: 'notifications/vendor', params: { a: 1, _meta: { mine: 1 } } },
    { jsonrpc: '2.0', method: 'notifications/vendor', params: {} },
  ]);
});

test('a service may have no subscriptions', async () => {
  const { client, errors } = await opened(scripted().service);
  expect(await client.request(1, 'ping')).toMatchObject({ id: 1 });
  expect(errors).toEqual([]);
});

test('resources/subscribe opens an exchange for the resource, and is answered when that is acknowledged', async () => {
  const acknowledge = deferred();
  const subscribers: Exchange[] = [];
  const { service } = scripted(
    {
      'subscriptions/listen': async (exchange) => {
        subscribers.push(exchange);
        await acknowledge.promise;
        return listening([])(exchange);
      },
    },
    capabilities,
  );
  const { client } = await opened(service);
  await client.send({ id: 1, method: 'resources/subscribe', params: { uri } });
  expect(subscribers.at(-1)!.params).toEqual({ notifications: { resourceSubscriptions: [uri] } });
  expect(client.take()).toEqual([]);
  acknowledge.resolve();
  await settled();
  expect(client.next()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  await subscribers.at(-1)!.notify('notifications/resources/updated', { uri });
  await settled();
  expect(client.next()).toEqual({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
});

test('subscribing twice opens one subscription, one unsubscribe ends it, and another has no effect', async () => {
  const { service, subscribers } = listenable();
  const { client } = await opened(service);
  expect(await client.request(1, 'resources/subscribe', { uri })).toMatchObject({ result: {} });
  expect(await client.request(2, 'resources/subscribe', { uri })).toMatchObject({ result: {} });
  expect(subscribers).toHaveLength(2);
  expect(await client.request(3, 'resources/unsubscribe', { uri })).toMatchObject({ result: {} });
  expect(subscribers).toHaveLength(1);
  expect(await client.request(4, 'resources/unsubscribe', { uri })).toMatchObject({ result: {} });
});

test('a resource that the service does not accept is refused', async () => {
  const { service } = scripted(
    {
      'subscriptions/listen': async (exchange) => {
        await exchange.notify('notifications/subscriptions/acknowledged', { notifications: {} });
        await aborted(exchange.signal);
        return {};
      },
    },
    capabilities,
  );
  const { client } = await opened(service);
  expect(await client.request(1, 'resources/subscribe', { uri })).toMatchObject({
    error: { code: -32602, message: expect.stringContaining(uri) },
  });
});

test('subscribing needs a URI and the capability', async () => {
  const { client } = await opened(listenable().service);
  expect(await client.request(1, 'resources/subscribe', {})).toMatchObject({ error: { code: -32602 } });
  const bare = await opened(scripted().service);
  expect(await bare.client.request(1, 'resources/subscribe', { uri })).toMatchObject({ error: { code: -32601 } });
  expect(await bare.client.request(2, 'logging/setLevel', { level: 'info' })).toMatchObject({
    error: { code: -32601 },
  });
});

test('a session may subscribe to no more than 1000 resources', async () => {
  const { client } = await opened(listenable().service);
  for (let n = 0; n < 1000; n += 1)
    await client.transport.send({ jsonrpc: '2.0', id: n, method: 'resources/subscribe', params: { uri: `x://${n}` } });
  await settled();
  expect(await client.request('more', 'resources/subscribe', { uri: 'x://more' })).toMatchObject({
    error: { code: -32600 },
  });
});

test('all log messages arrive until a level is set, then those of this level and above', async () => {
  const { service } = listenable({
    work: async (exchange: Exchange) => {
      for (const level of LOG_LEVELS) await exchange.notify('notifications/message', { level, data: level });
      return {};
    },
  });
  const { client } = await opened(service);
  await client.send({ id: 1, method: 'work' });
  expect(client.take().slice(0, -1)).toEqual(LOG_LEVELS.map(log));
  expect(await client.request(2, 'logging/setLevel', { level: 'error' })).toEqual({
    jsonrpc: '2.0',
    id: 2,
    result: {},
  });
  await client.send({ id: 3, method: 'work' });
  expect(client.take().slice(0, -1)).toEqual(['error', 'critical', 'alert', 'emergency'].map(log));
});

test.each([undefined, 'loud', 5])('log level %j gets −32602', async (level) => {
  const { client } = await opened(listenable().service);
  expect(await client.request(1, 'logging/setLevel', { level })).toMatchObject({ error: { code: -32602 } });
});

test('a new level reaches the service by a new subscription, and no message is missed or repeated', async () => {
  const { service, subscribers } = listenable();
  const { client } = await opened(service);
  const [before] = subscribers;
  await client.request(1, 'logging/setLevel', { level: 'warning' });
  expect(before!.signal.aborted).toBe(true);
  expect(subscribers).toHaveLength(1);
  expect(subscribers[0]).not.toBe(before);
  expect(subscribers[0]!.caller.logLevel).toBe('warning');
  await before!.notify('notifications/tools/list_changed');
  await subscribers[0]!.notify('notifications/tools/list_changed');
  await settled();
  expect(client.take()).toHaveLength(1);
});

test('closing the connection ends all subscriptions', async () => {
  const { service, subscribers } = listenable();
  const { client } = await opened(service);
  await client.request(1, 'resources/subscribe', { uri });
  expect(subscribers).toHaveLength(2);
  await client.transport.close();
  await settled();
  expect(subscribers).toEqual([]);
});

test('a refused level changes nothing, and the previous subscription continues', async () => {
  const subscribers: Exchange[] = [];
  let refuse = false;
  const { service } = scripted(
    {
      'subscriptions/listen': (exchange) => {
        if (refuse) throw new RpcError(ErrorCode.MethodNotFound, 'no levels here');
        return listening(subscribers)(exchange);
      },
    },
    capabilities,
  );
  const { client } = await opened(service);
  await client.request(1, 'logging/setLevel', { level: 'warning' });
  refuse = true;
  expect(await client.request(2, 'logging/setLevel', { level: 'debug' })).toMatchObject({ error: { code: -32601 } });
  expect(subscribers).toHaveLength(1);
  expect(subscribers[0]!.signal.aborted).toBe(false);
  expect(subscribers[0]!.caller.logLevel).toBe('warning');
  await subscribers[0]!.notify('notifications/tools/list_changed');
  await settled();
  expect(client.take()).toHaveLength(1);
  refuse = false;
  expect(await client.request(3, 'logging/setLevel', { level: 'debug' })).toMatchObject({ result: {} });
  expect(subscribers.map(({ caller }) => caller.logLevel)).toEqual(['debug']);
});

test('if two levels are set at once, the one that the service accepts stays', async () => {
  const answers = [deferred(), deferred()];
  const gates = [...answers];
  let opening = false;
  const subscribers: Exchange[] = [];
  const { service } = scripted(
    {
      'subscriptions/listen': async (exchange) => {
        if (opening) await gates.shift()!.promise;
        return listening(subscribers)(exchange);
      },
    },
    capabilities,
  );
  const { client } = await opened(service);
  opening = true;
  await client.send({ id: 1, method: 'logging/setLevel', params: { level: 'debug' } });
  await client.send({ id: 2, method: 'logging/setLevel', params: { level: 'error' } });
  answers[0]!.reject(new Error('not now'));
  await settled();
  expect(client.take()).toMatchObject([{ id: 1, error: { message: 'not now' } }]);
  answers[1]!.resolve();
  await settled();
  expect(client.take()).toMatchObject([{ id: 2, result: {} }]);
  expect(subscribers.map(({ caller }) => caller.logLevel)).toEqual(['error']);
});

test('a service with logging but without subscriptions accepts levels', async () => {
  const { client, errors } = await opened(scripted({}, capabilities).service);
  await client.send(
    { id: 1, method: 'logging/setLevel', params: { level: 'debug' } },
    { id: 2, method: 'logging/setLevel', params: { level: 'error' } },
  );
  expect(client.take()).toMatchObject([
    { id: 1, result: {} },
    { id: 2, result: {} },
  ]);
  expect(errors).toEqual([]);
});

test.each(['ends', 'rejects'])(
  'a subscription that the service %s is opened again by the next resources/subscribe',
  async (how) => {
    const ends: ReturnType<typeof deferred<void>>[] = [];
    const { service } = scripted(
      {
        'subscriptions/listen': async (exchange) => {
          if (!exchange.params['notifications'].resourceSubscriptions) return listening([])(exchange);
          const end = deferred();
          ends.push(end);
          await exchange.notify('notifications/subscriptions/acknowledged', exchange.params);
          await end.promise;
          return {};
        },
      },
      capabilities,
    );
    const { client, errors } = await opened(service);
    await client.request(1, 'resources/subscribe', { uri });
    if (how === 'ends') ends[0]!.resolve();
    else ends[0]!.reject(new Error('lost'));
    await settled();
    expect(errors.map(({ message }) => message)).toEqual(how === 'ends' ? [] : ['lost']);
    expect(await client.request(2, 'resources/subscribe', { uri })).toMatchObject({ result: {} });
    expect(ends).toHaveLength(2);
  },
);

test('a session whose server was lost subscribes again with its next request', async () => {
  let lost = true;
  const subscribers: Exchange[] = [];
  const { service } = scripted(
    {
      'subscriptions/listen': (exchange) => {
        if (lost) throw new RpcError(CONNECTION_CLOSED, 'The server is being started again');
        return listening(subscribers)(exchange);
      },
    },
    capabilities,
  );
  const { client, errors } = await opened(service);
  expect(errors.map(({ message }) => message)).toEqual(['The server is being started again']);
  lost = false;
  await client.request(1, 'echo');
  await client.request(2, 'echo');
  expect(subscribers).toHaveLength(1);
  await subscribers[0]!.notify('notifications/tools/list_changed');
  await settled();
  expect(client.take()).toEqual([{ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }]);
});

test('a level is also sent to a service that has ended its subscription', async () => {
  let end = deferred();
  const levels: unknown[] = [];
  const { service } = scripted(
    {
      'subscriptions/listen': async (exchange) => {
        levels.push(exchange.caller.logLevel);
        await exchange.notify('notifications/subscriptions/acknowledged', exchange.params);
        await end.promise;
        return {};
      },
    },
    capabilities,
  );
  const { client } = await opened(service);
  end.resolve();
  await settled();
  end = deferred();
  expect(await client.request(1, 'logging/setLevel', { level: 'error' })).toMatchObject({ result: {} });
  expect(levels).toEqual([undefined, 'error']);
});

test.each([
  ['takes', (uris: string[]) => ({ resourceSubscriptions: uris }), { result: {} }],
  ['refuses', () => ({}), { error: { code: -32602 } }],
])('a second subscription waits for the first one, which the service %s', async (_, honour, answer) => {
  const acknowledge = deferred();
  let opening = 0;
  const { service } = scripted(
    {
      'subscriptions/listen': async (exchange) => {
        const uris = exchange.params['notifications'].resourceSubscriptions;
        if (!uris) return listening([])(exchange);
        opening += 1;
        await acknowledge.promise;
        await exchange.notify('notifications/subscriptions/acknowledged', { notifications: honour(uris) });
        await aborted(exchange.signal);
        return {};
      },
    },
    capabilities,
  );
  const { client } = await opened(service);
  const params = { uri };
  await client.send({ id: 1, method: 'resources/subscribe', params }, { id: 2, method: 'resources/subscribe', params });
  expect(client.take()).toEqual([]);
  acknowledge.resolve();
  await settled();
  expect(client.take()).toMatchObject([
    { id: 1, ...answer },
    { id: 2, ...answer },
  ]);
  expect(opening).toBe(1);
});

test('a session ends before its subscriptions', async () => {
  const { service, subscribers } = listenable();
  const { client } = await opened(service);
  await client.request(1, 'resources/subscribe', { uri });
  const ended: boolean[] = [];
  for (const { signal, caller } of subscribers)
    signal.addEventListener('abort', () => void ended.push(caller.session!.signal.aborted));
  await client.transport.close();
  await settled();
  expect(ended).toEqual([true, true]);
});

test('a thousand changes of the log level at once open two subscriptions, and the newest has the last level', async () => {
  const acknowledge = deferred();
  const subscribers: Exchange[] = [];
  let count = 0;
  const { service } = scripted(
    {
      'subscriptions/listen': async (exchange) => {
        count += 1;
        await acknowledge.promise;
        return listening(subscribers)(exchange);
      },
    },
    capabilities,
  );
  const { client } = await opened(service);
  const levels = Array.from({ length: 1000 }, (_, id) => LOG_LEVELS[id % LOG_LEVELS.length]!);
  await client.send(...levels.map((level, id) => ({ id, method: 'logging/setLevel', params: { level } })));
  acknowledge.resolve();
  await settled();
  expect(client.take()).toEqual(levels.map((_, id) => ({ jsonrpc: '2.0', id, result: {} })));
  expect(count).toBe(2);
  expect(subscribers.map(({ caller }) => caller.logLevel)).toEqual([levels.at(-1)]);
});
