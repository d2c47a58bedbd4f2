import { expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { deferred } from '../../test/support/service.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { Bus } from '../store/bus.ts';
import { memoryBus } from '../store/memory-bus.ts';
import { memoryState } from '../store/state.ts';
import { McpServer } from './mcp-server.ts';

/** What the clients of one process see of changes at another one. */

const everything = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

interface Process {
  readonly server: McpServer;
  readonly bus: Bus;
  readonly errors: Error[];
  /** What a client that listens here gets, after the acknowledgement. */
  listen(notifications: JsonObject): { readonly got: string[] };
}

/** Processes on one bus. Each runs a server with one of these names. */
async function processes(...names: readonly string[]): Promise<[Process, Process, ...Process[]]> {
  const state = memoryState();
  const join = memoryBus();
  const started = names.map(async (name, n) => {
    const errors: Error[] = [];
    const node = `n${n}`;
    const bus = { ...join(node) };
    const server = new McpServer({
      name,
      version: '1',
      http: { state: { ...state, node, isAlive: () => Promise.resolve(true), bus } },
      onerror: (error) => errors.push(error),
    });
    server.tool('t', {}, () => 1);
    server.resource('a://1', { name: 'r' }, () => 'x');
    server.prompt('p', {}, () => 'x');
    // A server knows the others when it is served.
    await server.fetch(new Request('http://localhost/'));
    onTestFinished(() => server.close(0));
    const listen = (notifications: JsonObject) => {
      const exchange = new TestExchange('subscriptions/listen', { notifications });
      void server.service(exchange);
      return {
        get got() {
          return exchange.notified.slice(1).map(({ method, params }) => String(params?.['uri'] ?? method));
        },
      };
    };
    return { server, bus, errors, listen };
  });
  return (await Promise.all(started)) as [Process, Process, ...Process[]];
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a change of a list reaches the listeners at all processes, each once', async () => {
  const [a, b, c] = (await processes('s', 's', 's')) as [Process, Process, Process];
  const clients = [a, b, c].map(({ listen }) => listen(everything));
  b.server.tool('new', {}, () => 1);
  b.server.listChanged('prompts');
  await settled();
  for (const { got } of clients)
    expect(got).toEqual(['notifications/tools/list_changed', 'notifications/prompts/list_changed']);
});

test('an update of a resource reaches its subscribers at all processes, also if there is none here', async () => {
  const [a, b] = await processes('s', 's');
  const one = a.listen({ resourceSubscriptions: ['a://1'] });
  const other = a.listen({ resourceSubscriptions: ['a://2'] });
  b.server.resourceUpdated('a://1');
  await settled();
  expect(one.got).toEqual(['a://1']);
  expect(other.got).toEqual([]);
});

test('servers with different names on one bus do not hear each other', async () => {
  const [a, b] = await processes('s', 'other');
  const client = b.listen({ ...everything, resourceSubscriptions: ['a://1'] });
  a.server.listChanged('tools');
  a.server.resourceUpdated('a://1');
  await settled();
  expect(client.got).toEqual([]);
});

test('what changes while a message is on its way is told in one more', async () => {
  const [a, b] = await processes('s', 's');
  const client = b.listen({ ...everything, resourceSubscriptions: ['a://1', 'a://2'] });
  const gate = deferred();
  const { sendToAll } = a.bus;
  const send = vi
    .spyOn(a.bus, 'sendToAll')
    .mockImplementation((...args) => gate.promise.then(() => sendToAll(...args)));
  for (let n = 0; n < 1000; n += 1) {
    a.server.listChanged('tools');
    a.server.resourceUpdated(n % 2 === 0 ? 'a://1' : 'a://2');
    if (n === 10) await settled();
  }
  gate.resolve();
  await expect.poll(() => client.got.length).toBe(6);
  expect(client.got.toSorted()).toEqual([
    'a://1',
    'a://1',
    'a://2',
    'a://2',
    ...Array.from({ length: 2 }, () => 'notifications/tools/list_changed'),
  ]);
  expect(send).toHaveBeenCalledTimes(2);
});

test('if too many resources change at once, all subscribers hear it', async () => {
  const [a, b] = await processes('s', 's');
  const subscribed = b.listen({ resourceSubscriptions: ['a://first', 'a://last'] });
  const stranger = b.listen({ resourceSubscriptions: ['b://unchanged'] });
  const send = vi.spyOn(a.bus, 'sendToAll');
  a.server.resourceUpdated('a://first');
  for (let n = 0; n < 5000; n += 1) a.server.resourceUpdated(`a://${n}`);
  a.server.resourceUpdated('a://last');
  await expect.poll(() => stranger.got).toEqual(['b://unchanged']);
  expect(subscribed.got).toEqual(['a://first', 'a://last']);
  for (const [, body] of send.mock.calls) expect(JSON.stringify(body).length).toBeLessThan(1000);
});

test('a change that cannot be told is told later, and the failure is reported once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const [a, b] = await processes('s', 's');
  const client = b.listen({ toolsListChanged: true, resourceSubscriptions: ['a://1', 'a://2'] });
  const { sendToAll } = a.bus;
  const send = vi.spyOn(a.bus, 'sendToAll').mockRejectedValue(new Error('unreachable'));
  a.server.listChanged('tools');
  a.server.resourceUpdated('a://1');
  await settled();
  a.server.resourceUpdated('a://2');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(client.got).toEqual([]);
  expect(a.errors.map(({ message }) => message)).toEqual(['Other processes do not know yet what has changed']);
  expect(a.errors[0]!.cause).toMatchObject({ message: 'unreachable' });
  send.mockImplementation(sendToAll);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(client.got.toSorted()).toEqual(['a://1', 'a://2', 'notifications/tools/list_changed']);
});

test('a server that is closed neither tells nor hears', async () => {
  const [a, b] = await processes('s', 's');
  const client = b.listen(everything);
  const send = vi.spyOn(a.bus, 'sendToAll');
  await a.server.close(0);
  a.server.listChanged('tools');
  await settled();
  expect(client.got).toEqual([]);
  expect(send).not.toHaveBeenCalled();
  expect(await b.bus.send('n0', 'changes', { server: 's', lists: ['tools'], uris: [] })).toBe(false);
});

test('a server that is served in two ways hears of changes until both are closed', async () => {
  const [a, b] = await processes('s', 's');
  const listener = await a.server.listen({ port: 0 });
  const tell = () => b.bus.send('n0', 'changes', { server: 's', lists: ['tools'], uris: [] });
  // The second time, there is nothing left to close.
  for (let n = 0; n < 2; n += 1) await listener.close(0);
  expect(await tell()).toBe(true);
  await a.server.close(0);
  expect(await tell()).toBe(false);
});

test('a malformed message changes nothing', async () => {
  const [a, b] = await processes('s', 's');
  const client = b.listen({ ...everything, resourceSubscriptions: ['a://1'] });
  for (const body of [{}, { lists: 'tools', uris: 7 }, { lists: [{}, 'x'], uris: [null] }])
    await a.bus.sendToAll('changes', { server: 's', ...body });
  await settled();
  expect(client.got).toEqual([]);
  expect(b.errors).toEqual([]);
});
