import { describe, expect, test } from 'vitest';
import type { Exchange } from '../../src/core/exchange.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { Context } from '../../src/server/context.ts';
import { Events } from '../support/http.ts';
import { aborted, deferred, listening, scripted } from '../support/service.ts';
import { meta } from '../support/modern.ts';
import { served } from '../support/wire.ts';
import { asked, modernHttp } from './modern-client.ts';

const ID = 'io.modelcontextprotocol/subscriptionId';
const LEVEL = 'io.modelcontextprotocol/logLevel';
const logging = { [LEVEL]: 'info' };

/** Logs and reports progress, then waits for the test. */
function loggingService() {
  const go = deferred();
  const { service, seen } = scripted({
    'tools/call': async (exchange) => {
      const ctx = new Context(exchange);
      await ctx.log('debug', 'less');
      await ctx.log('info', 'working');
      await ctx.progress(1, 2, 'half');
      await exchange.notify('notifications/tools/list_changed');
      await exchange.notify('notifications/resources/updated', { uri: 'a://1' });
      await go.promise;
      await ctx.progress(2, 2);
      return { done: true };
    },
  });
  return { service, seen, go };
}

const call = (id: number, more: object = {}) => asked(id, 'tools/call', { name: 'a', _meta: more });
const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'working' } };
const progress = (progressToken: unknown, step: object) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken, total: 2, ...step },
});
const done = (id: number) => ({ jsonrpc: '2.0', id, result: { resultType: 'complete', done: true } });

describe('the response to a request over HTTP', () => {
  test('is plain JSON if nothing comes before it', async () => {
    const { post } = modernHttp(scripted().service);
    const response = await post(asked(1, 'echo'));
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({ id: 1, result: { resultType: 'complete' } });
  });

  test('is a stream with only messages of the request, which ends with the response', async () => {
    const { service, go } = loggingService();
    const { post } = modernHttp(service);
    const [one, two] = await Promise.all([
      post(call(1, { [LEVEL]: 'info', progressToken: 'a' })),
      post(call(2, { progressToken: 7 })),
    ]);
    expect(one.headers.get('content-type')).toBe('text/event-stream');
    expect(one.headers.get('x-accel-buffering')).toBe('no');
    go.resolve();
    const [first, second] = [await new Events(one).rest(), await new Events(two).rest()];
    expect(first.map(({ data }) => JSON.parse(data!))).toEqual([
      log,
      progress('a', { progress: 1, message: 'half' }),
      progress('a', { progress: 2 }),
      done(1),
    ]);
    expect(second.map(({ data }) => JSON.parse(data!))).toEqual([
      progress(7, { progress: 1, message: 'half' }),
      progress(7, { progress: 2 }),
      done(2),
    ]);
    // Streams cannot be resumed: their events have no ids.
    expect([...first, ...second].filter(({ id }) => id !== undefined)).toEqual([]);
  });

  test('cancels its request when the client closes the stream', async () => {
    const { service, seen, go } = loggingService();
    const { post } = modernHttp(service);
    const [mine, other] = [await post(call(1, logging)), await post(call(2, logging))];
    const events = new Events(mine);
    expect(await events.message()).toEqual(log);
    await events.cancel();
    await expect.poll(() => seen[0]!.signal.aborted).toBe(true);
    expect(seen[1]!.signal.aborted).toBe(false);
    go.resolve();
    expect((await new Events(other).rest()).map(({ data }) => JSON.parse(data!)).at(-1)).toEqual(done(2));
  });

  test('may have an id that other callers also use', async () => {
    const { service, go } = loggingService();
    const { post } = modernHttp(service);
    const replies = await Promise.all([post(call(1, logging)), post(call(1, logging))]);
    go.resolve();
    for (const reply of replies) {
      const events = await new Events(reply).rest();
      expect(events.map(({ data }) => JSON.parse(data!))).toEqual([log, done(1)]);
    }
  });
});

describe('log messages', () => {
  test.each(['loud', 5, null])('at the level %j get −32602', async (level) => {
    const { post } = modernHttp(scripted().service);
    const response = await post(asked(1, 'echo', { _meta: { [LEVEL]: level } }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32602 } });
  });

  test('are not sent for a request that does not ask for them', async () => {
    const { service, go } = loggingService();
    go.resolve();
    const { client } = await served(service);
    await client.send(call(1));
    expect(client.take()).toEqual([done(1)]);
    await client.send(call(2, logging));
    expect(client.take()).toEqual([log, done(2)]);
  });

  test('are never sent on a subscription', async () => {
    const subscribers: Exchange[] = [];
    const { client } = await served(scripted({ 'subscriptions/listen': listening(subscribers) }).service);
    await client.send(asked(1, 'subscriptions/listen', { notifications: { toolsListChanged: true }, _meta: logging }));
    client.take();
    await subscribers[0]!.notify('notifications/message', { level: 'emergency', data: 'fire' });
    await subscribers[0]!.notify('notifications/progress', { progressToken: 1, progress: 1 });
    await subscribers[0]!.notify('notifications/tools/list_changed');
    expect(client.take()).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: { [ID]: 1 } } },
    ]);
  });
});

describe('over a shared connection', () => {
  test('a cancelled request is aborted, and sends nothing more', async () => {
    const { service, seen, go } = loggingService();
    const { client } = await served(service);
    await client.send(call(1, { [LEVEL]: 'info', progressToken: 'a' }), call(2, { progressToken: 'b' }));
    client.take();
    await client.send({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough', _meta: meta() } });
    expect(seen.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    expect(String(seen[0]!.signal.reason)).toContain('enough');
    go.resolve();
    await expect.poll(() => client.inbox).toEqual([progress('b', { progress: 2 }), done(2)]);
  });

  test('a cancellation that is malformed, unknown or late changes nothing', async () => {
    const { service, seen, go } = loggingService();
    const { client, errors } = await served(service);
    await client.send(call(1));
    for (const params of [{ requestId: 2 }, { requestId: '1' }, { requestId: null }, {}]) {
      await client.send({ method: 'notifications/cancelled', params: { ...params, _meta: meta() } });
    }
    expect(seen[0]!.signal.aborted).toBe(false);
    go.resolve();
    await expect.poll(() => client.take()).toEqual([done(1)]);
    await client.send({ method: 'notifications/cancelled', params: { requestId: 1, _meta: meta() } });
    expect(client.take()).toEqual([]);
    expect(errors).toEqual([]);
    // In particular it does not reach the service: behind a bridge, other clients have requests with these ids.
    expect(seen).toHaveLength(1);
  });

  test('progress ends with the request', async () => {
    const { service, seen } = scripted();
    const { client } = await served(service);
    await client.send(asked(1, 'echo', { _meta: { progressToken: 'a', [LEVEL]: 'info' } }));
    client.take();
    await seen[0]!.notify('notifications/progress', { progressToken: 'a', progress: 1 });
    await seen[0]!.notify('notifications/message', { level: 'info', data: 'late' });
    expect(client.take()).toEqual([]);
  });

  test.each([[undefined], [null], [1.5], [{}]])(
    'no progress is sent without a valid token: %j',
    async (progressToken) => {
      const { service, go } = loggingService();
      go.resolve();
      const { client } = await served(service);
      await client.send(call(1, progressToken === undefined ? {} : { progressToken }));
      expect(client.take()).toEqual([done(1)]);
    },
  );
});

describe('a subscription', () => {
  const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  const acknowledged = (id: number, notifications: object) => ({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications, _meta: { [ID]: id } },
  });
  const note = (id: number, method: string, params = {}) => ({
    jsonrpc: '2.0',
    method: `notifications/${method}`,
    params: { ...params, _meta: { [ID]: id } },
  });

  function setUp() {
    const server = new McpServer({ name: 'test', version: '1' });
    server.tool('t', {}, () => 1);
    server.resource('a://1', { name: 'one' }, () => 'x');
    const change = (): void => {
      server.tool(`t${Math.random()}`, {}, () => 1);
      server.resourceUpdated('a://1');
      server.resourceUpdated('a://2');
    };
    return { server, change };
  }

  test('is acknowledged first, with the accepted filter, and carries only what was requested', async () => {
    const { server, change } = setUp();
    const { post, inbound } = modernHttp(server.service);
    const filter = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a://1'] };
    const events = new Events(await post(asked(5, 'subscriptions/listen', { notifications: filter })));
    expect(events.response.headers.get('content-type')).toBe('text/event-stream');
    expect(await events.message()).toEqual(
      acknowledged(5, { toolsListChanged: true, resourceSubscriptions: ['a://1'] }),
    );
    server.resource('a://3', { name: 'three' }, () => 'x');
    change();
    const two = [await events.message(), await events.message()];
    expect(two).toContainEqual(note(5, 'tools/list_changed'));
    expect(two).toContainEqual(note(5, 'resources/updated', { uri: 'a://1' }));
    const rest = events.rest();
    await inbound.close(0);
    // It ends with its response, and nothing came between.
    expect((await rest).map(({ data }) => JSON.parse(data!))).toEqual([
      { jsonrpc: '2.0', id: 5, result: { resultType: 'complete', _meta: { [ID]: 5 } } },
    ]);
  });

  test('keeps its id separate from others on a shared connection, until it is cancelled', async () => {
    const { server, change } = setUp();
    const { client } = await served(server.service);
    await client.send(
      asked(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } }),
      asked(2, 'subscriptions/listen', { notifications: all }),
      asked(3, 'subscriptions/listen', { notifications: {} }),
    );
    const supported = { toolsListChanged: true, resourcesListChanged: true };
    expect(client.take()).toEqual([
      acknowledged(1, { toolsListChanged: true }),
      acknowledged(2, supported),
      acknowledged(3, {}),
    ]);
    change();
    await expect.poll(() => client.take()).toEqual([note(1, 'tools/list_changed'), note(2, 'tools/list_changed')]);
    await client.send({ method: 'notifications/cancelled', params: { requestId: 1, _meta: meta() } });
    change();
    await expect.poll(() => client.take()).toEqual([note(2, 'tools/list_changed')]);
    expect(client.take()).toEqual([]);
  });

  test('ends if its client closes the stream', async () => {
    const subscribers: Exchange[] = [];
    const { post } = modernHttp(scripted({ 'subscriptions/listen': listening(subscribers) }).service);
    const events = new Events(await post(asked(1, 'subscriptions/listen', { notifications: {} })));
    await events.message();
    const [exchange] = subscribers;
    await events.cancel();
    await aborted(exchange!.signal);
    await expect.poll(() => subscribers).toEqual([]);
  });

  test('with an invalid filter gets −32602', async () => {
    const { server } = setUp();
    const { call: request } = modernHttp(server.service);
    for (const notifications of [undefined, [], { resourceSubscriptions: 'a://1' }]) {
      const params = notifications === undefined ? {} : { notifications };
      expect(await request(1, 'subscriptions/listen', params)).toMatchObject({ id: 1, error: { code: -32602 } });
    }
  });
});
