import { expect, test } from 'vitest';
import { TestExchange, type TestExchangeOptions } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from './mcp-server.ts';

const everything = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

function setUp() {
  const errors: Error[] = [];
  const server = new McpServer({ name: 'test', version: '1', onerror: (error) => errors.push(error) });
  const tool = server.tool('t', {}, () => 1);
  const resource = server.resource('a://1', { name: 'r' }, () => 'x');
  const prompt = server.prompt('p', {}, () => 'x');
  const listen = (notifications: unknown, options?: TestExchangeOptions) => {
    const exchange = new TestExchange('subscriptions/listen', { notifications }, options);
    const done = server.service(exchange);
    return {
      exchange,
      done,
      methods: () => exchange.notified.map(({ method }) => method.replace('notifications/', '')),
    };
  };
  return { server, tool, resource, prompt, listen, errors };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('the acknowledgement comes first and names what is honoured', async () => {
  const { server, listen } = setUp();
  const filter = { ...everything, resourceSubscriptions: ['a://1'] };
  const { exchange } = listen({ ...filter, somethingNew: true });
  server.resourceUpdated('a://1');
  await settled();
  expect(exchange.notified).toEqual([
    { method: 'notifications/subscriptions/acknowledged', params: { notifications: filter } },
    { method: 'notifications/resources/updated', params: { uri: 'a://1' } },
  ]);
});

test('what the server has not is not honoured', async () => {
  const server = new McpServer({ name: 'test', version: '1' });
  const ask = () =>
    new TestExchange('subscriptions/listen', { notifications: { ...everything, resourceSubscriptions: ['a://1'] } });
  const exchange = ask();
  void server.service(exchange);
  expect(exchange.notified[0]?.params).toEqual({ notifications: {} });

  const later = new McpServer({ name: 'test', version: '1', capabilities: { tools: { listChanged: true } } });
  const hopeful = ask();
  void later.service(hopeful);
  later.tool('t', {}, () => 1);
  await settled();
  expect(hopeful.notified.map(({ params }) => params)).toEqual([
    { notifications: { toolsListChanged: true } },
    undefined,
  ]);
});

test('a change is heard by those who asked, once, until they leave', async () => {
  const { server, tool, resource, prompt, listen } = setUp();
  const all = listen(everything);
  const tools = listen({ toolsListChanged: true, promptsListChanged: false });
  const none = listen({});
  server.tool('u', {}, () => 1);
  tool.update({ title: 'T' });
  tool.remove();
  expect(all.methods()).toEqual(['subscriptions/acknowledged']);
  await settled();
  expect(all.methods()).toEqual(['subscriptions/acknowledged', 'tools/list_changed']);
  resource.remove();
  prompt.update({ title: 'P' });
  server.resourceTemplate('b://{x}', { name: 'b' }, () => 'x');
  await settled();
  expect(all.methods().slice(2).toSorted()).toEqual(['prompts/list_changed', 'resources/list_changed']);
  expect(tools.methods()).toEqual(['subscriptions/acknowledged', 'tools/list_changed']);
  expect(none.methods()).toEqual(['subscriptions/acknowledged']);

  all.exchange.abort();
  expect(await all.done).toEqual({});
  server.tool('v', {}, () => 1);
  await settled();
  expect(all.methods()).toHaveLength(4);
  expect(tools.methods()).toHaveLength(3);
});

test('an update is heard by those who subscribed to that resource', async () => {
  const { server, listen } = setUp();
  const one = listen({ resourceSubscriptions: ['a://1', 'a://2'] });
  const other = listen({ resourceSubscriptions: ['a://3'], ...everything });
  server.resourceUpdated('a://2');
  await settled();
  expect(one.exchange.notified.at(-1)).toEqual({ method: 'notifications/resources/updated', params: { uri: 'a://2' } });
  expect(other.methods()).toEqual(['subscriptions/acknowledged']);
});

test('a reader who does not read piles up one of each', async () => {
  const { server, listen } = setUp();
  const taken: (() => void)[] = [];
  const slow = listen(
    { ...everything, resourceSubscriptions: ['a://1', 'a://2'] },
    { onnotify: () => new Promise((resolve) => taken.push(resolve)) },
  );
  for (let round = 0; round < 100; round += 1) {
    server.resourceUpdated('a://1');
    server.resourceUpdated('a://2');
    server.tool(`t${round}`, {}, () => 1);
    await Promise.resolve();
  }
  while (taken.length > 0) {
    taken.shift()?.();
    await settled();
  }
  expect(slow.exchange.notified.slice(1).map(({ method, params }) => params?.['uri'] ?? method)).toEqual([
    'a://1',
    'a://2',
    'notifications/tools/list_changed',
    'a://1',
  ]);
});

test('what cannot be delivered is for its exchange to report, and the next one is tried', async () => {
  const { server, listen, errors } = setUp();
  let broken = false;
  const one = listen(everything, {
    onnotify: () => {
      if (broken) throw new Error('broken pipe');
    },
  });
  broken = true;
  server.tool('u', {}, () => 1);
  await settled();
  broken = false;
  server.tool('v', {}, () => 1);
  await settled();
  expect(one.methods()).toHaveLength(3);
  expect(errors).toEqual([]);
});

test('where the acknowledgement cannot be sent, nobody listens', async () => {
  const { server, listen } = setUp();
  const one = listen(everything, {
    onnotify: () => {
      throw new Error('broken pipe');
    },
  });
  await expect(one.done).rejects.toThrow('broken pipe');
  server.tool('u', {}, () => 1);
  await settled();
  expect(one.exchange.notified).toHaveLength(1);
});

test('who has left already does not listen', async () => {
  const { server } = setUp();
  const exchange = new TestExchange('subscriptions/listen', { notifications: {} });
  exchange.abort();
  expect(await server.service(exchange)).toEqual({});
  expect(exchange.notified).toEqual([]);
});

test.each<JsonObject>([
  {},
  { notifications: [] },
  { notifications: { resourceSubscriptions: 'a://1' } },
  { notifications: { resourceSubscriptions: [1] } },
])('the filter in %j is refused', async (params) => {
  const { server } = setUp();
  await expect(server.service(new TestExchange('subscriptions/listen', params))).rejects.toMatchObject({
    code: -32602,
  });
});
