import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { aborted, listening, scripted, settled } from '../../../test/support/service.ts';
import { TestExchange, type TestExchangeOptions } from '../../../test/support/exchange.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { createFleet, type Fleet } from './fleet.ts';

type Answer = NonNullable<Parameters<typeof scripted>[0]>[string];

const LISTS = { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } };
const SESSION = { caller: { session: { id: 's', signal: new AbortController().signal } } };

/** A server that accepts subscriptions. `subscribers` has the open exchanges. */
function server(
  capabilities: JsonObject = LISTS,
  more: Record<string, Answer> = {},
): { service: Service; seen: Exchange[]; subscribers: Exchange[] } {
  const subscribers: Exchange[] = [];
  const { service, seen } = scripted(
    {
      'subscriptions/listen': listening(subscribers),
      'tools/list': () => ({ tools: [] }),
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      ...more,
    },
    capabilities,
  );
  return { service, seen, subscribers };
}

function fleetOf(servers: Record<string, { service: Service }>, timeout = 1000): { fleet: Fleet; warnings: string[] } {
  const warnings: string[] = [];
  const members = Object.entries(servers).map(([name, { service }]) => ({ name, service }));
  const fleet = createFleet({ members, onwarning: (warning) => void warnings.push(warning), timeout });
  onTestFinished(() => fleet.close());
  return { fleet, warnings };
}

/** The notifications of an exchange, in short form. */
const notificationsOf = ({ notified }: TestExchange): unknown[] =>
  notified.map(({ method, params }) => [
    method.replace('notifications/', ''),
    params?.['notifications'] ?? params?.['uri'],
  ]);

function listen(
  fleet: Fleet,
  notifications: unknown,
  options?: TestExchangeOptions,
): { exchange: TestExchange; over: Promise<JsonObject> } {
  const exchange = new TestExchange('subscriptions/listen', { notifications }, options);
  const over = fleet.service(exchange);
  over.catch(() => {});
  onTestFinished(() => exchange.abort());
  return { exchange, over };
}

const changed = (exchange: Exchange | undefined, kind: string): Promise<void> =>
  exchange!.notify(`notifications/${kind}/list_changed`);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('thousands of subscribers hear of a change of the fleet in turns, so that others are served in between', async () => {
  const [a, b] = [server(), server()];
  const { fleet } = fleetOf({ a });
  const all = Array.from({ length: 3000 }, () => listen(fleet, { toolsListChanged: true }));
  await settled();
  const heard = (): number => all.filter(({ exchange }) => exchange.notified.length > 1).length;
  fleet.update([
    { name: 'a', service: a.service },
    { name: 'b', service: b.service },
  ]);
  expect(heard()).toBeLessThan(3000);
  await vi.advanceTimersByTimeAsync(100);
  expect(heard()).toBe(3000);
  await vi.waitFor(() => expect(b.subscribers).toHaveLength(3000));
});

test('a subscription to a thousand resources takes little time', async () => {
  const a = server();
  const { fleet } = fleetOf({ a });
  const uris = Array.from({ length: 1000 }, (_, n) => `file:///${'a/'.repeat(100)}${n}`);
  const before = process.cpuUsage();
  const all = Array.from({ length: 40 }, () => listen(fleet, { resourceSubscriptions: uris }));
  await settled();
  expect(all.map(({ exchange }) => notificationsOf(exchange))).toEqual(
    all.map(() => [['subscriptions/acknowledged', { resourceSubscriptions: uris }]]),
  );
  // The processor time of this process only. It took 6 seconds when each URI was compared with all others.
  expect(process.cpuUsage(before).user).toBeLessThan(2_500_000);
});

describe('a subscription to several servers', () => {
  test('is acknowledged once, with what any server supports, and reports changes of each', async () => {
    const [a, b, c] = [server(), server(), server()];
    const { fleet } = fleetOf({ a, b, c });
    const filter = { toolsListChanged: true, resourcesListChanged: true };
    const { exchange, over } = listen(fleet, filter);
    await settled();
    expect(notificationsOf(exchange)).toEqual([['subscriptions/acknowledged', filter]]);
    expect([a, b, c].map(({ subscribers }) => subscribers.map(({ params }) => params))).toEqual(
      Array.from({ length: 3 }, () => [{ notifications: filter }]),
    );
    await changed(b.subscribers[0], 'tools');
    await changed(a.subscribers[0], 'resources');
    // Nobody subscribed to it.
    await changed(a.subscribers[0], 'prompts');
    expect(notificationsOf(exchange).slice(1)).toEqual([
      ['tools/list_changed', undefined],
      ['resources/list_changed', undefined],
    ]);
    exchange.abort();
    expect(await over).toEqual({});
    await settled();
    expect([a.subscribers, b.subscribers]).toEqual([[], []]);
  });

  test("of a session reports changes of all servers, and log messages have the server's name", async () => {
    const a = server({ prompts: {} });
    const { fleet } = fleetOf({ a });
    const { exchange } = listen(fleet, { toolsListChanged: true }, SESSION);
    await settled();
    await a.subscribers[0]!.notify('notifications/message', { level: 'info', logger: 'db', data: 'x' });
    await a.subscribers[0]!.notify('notifications/custom', { x: 1 });
    expect(exchange.notified.slice(1)).toEqual([
      { method: 'notifications/message', params: { level: 'info', logger: 'a/db', data: 'x' } },
      { method: 'notifications/custom', params: { x: 1 } },
    ]);
  });

  test("uses the caller's URIs for resources, and reaches the server that a URI names", async () => {
    const [a, b] = [server(), server()];
    const { fleet } = fleetOf({ a, b });
    const uris = ['everwire+b:x:both', 'everwire+a:x:both', 'everwire+b:x:b'];
    const { exchange } = listen(fleet, { resourceSubscriptions: [...uris, 'x:b', 'everwire+nobody:x:1'] });
    await settled();
    expect(notificationsOf(exchange)).toEqual([['subscriptions/acknowledged', { resourceSubscriptions: uris }]]);
    expect(a.subscribers[0]?.params['notifications']).toEqual({ resourceSubscriptions: ['x:both'] });
    expect(b.subscribers[0]?.params['notifications']).toEqual({ resourceSubscriptions: ['x:both', 'x:b'] });
    // The subscribed resource, a part of it, and another resource.
    for (const uri of ['x:both', 'x:b/part', 'x:bc'])
      await b.subscribers[0]!.notify('notifications/resources/updated', { uri });
    expect(notificationsOf(exchange).slice(1)).toEqual([
      ['resources/updated', 'everwire+b:x:both'],
      ['resources/updated', 'everwire+b:x:b/part'],
      ['resources/updated', 'everwire+b:x:bc'],
    ]);
  });

  test("does not let a server report changes of another server's resources", async () => {
    const [a, b] = [server(), server()];
    const { fleet } = fleetOf({ a, b });
    const { exchange } = listen(fleet, { resourceSubscriptions: ['everwire+a:x:1', 'everwire+b:x:1'] });
    await settled();
    await a.subscribers[0]!.notify('notifications/resources/updated', { uri: 'everwire+b:x:1' });
    expect(notificationsOf(exchange).slice(1)).toEqual([['resources/updated', 'everwire+a:everwire+b:x:1']]);
  });

  test("uses the caller's ids for tasks", async () => {
    const [a, b] = [server(), server()];
    const { fleet } = fleetOf({ a, b });
    const { exchange } = listen(fleet, { taskIds: ['b:1', 'nobody:2'] });
    await settled();
    expect(notificationsOf(exchange)).toEqual([['subscriptions/acknowledged', { taskIds: ['b:1'] }]]);
    expect(a.subscribers).toEqual([]);
    await b.subscribers[0]!.notify('notifications/tasks', { taskId: '1', status: 'working' });
    expect(exchange.notified[1]?.params).toEqual({ taskId: 'b:1', status: 'working' });
  });

  test('waits for a slow server within the time limit, and sends nothing before the acknowledgement', async () => {
    let acknowledge!: () => void;
    const slow = server(LISTS, {
      'subscriptions/listen': async (exchange) => {
        await new Promise<void>((resolve) => (acknowledge = resolve));
        await exchange.notify('notifications/subscriptions/acknowledged', exchange.params);
        await aborted(exchange.signal);
        return {};
      },
    });
    const b = server();
    const { fleet } = fleetOf({ slow, b });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await settled();
    await changed(b.subscribers[0], 'tools');
    expect(exchange.notified).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(notificationsOf(exchange)).toEqual([
      ['subscriptions/acknowledged', { toolsListChanged: true }],
      ['tools/list_changed', undefined],
    ]);
    // Nobody knows what the server sent in the meantime.
    acknowledge();
    await settled();
    expect(notificationsOf(exchange)).toHaveLength(3);
  });

  test('waits two seconds for a server that did not answer last time', async () => {
    const hangs = { service: () => new Promise<never>(() => {}) };
    const { fleet } = fleetOf({ hangs, b: server() }, 10_000);
    const list = fleet.service(new TestExchange('tools/list'));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await list).toMatchObject({ tools: [] });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await vi.advanceTimersByTimeAsync(1999);
    expect(exchange.notified).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(notificationsOf(exchange)).toEqual([['subscriptions/acknowledged', { toolsListChanged: true }]]);
  });

  test('continues when a server is lost: it subscribes again and reports possible changes', async () => {
    let end!: (error?: Error) => void;
    let attempts = 0;
    const lost = server(LISTS, {
      'subscriptions/listen': async (exchange) => {
        attempts += 1;
        await exchange.notify('notifications/subscriptions/acknowledged', exchange.params);
        await new Promise<void>((resolve, reject) => {
          end = (error) => (error ? reject(error) : resolve());
          exchange.signal.addEventListener('abort', () => resolve());
        });
        return {};
      },
    });
    const b = server();
    const { fleet, warnings } = fleetOf({ lost, b });
    const { exchange } = listen(fleet, { toolsListChanged: true, resourceSubscriptions: ['everwire+lost:x:1'] });
    await settled();
    for (const error of [new RpcError(-32000, 'Connection closed'), undefined]) {
      exchange.notified.length = 0;
      end(error);
      await settled();
      await changed(b.subscribers[0], 'tools');
      expect(notificationsOf(exchange)).toEqual([['tools/list_changed', undefined]]);
      await vi.advanceTimersByTimeAsync(1000);
      expect(notificationsOf(exchange).slice(1)).toEqual(
        expect.arrayContaining([
          ['tools/list_changed', undefined],
          ['resources/updated', 'everwire+lost:x:1'],
        ]),
      );
    }
    expect(attempts).toBe(3);
    // The server may end a subscription at any time.
    expect(warnings).toEqual(['the server "lost" does not answer subscriptions/listen: Connection closed']);
  });

  test('subscribes again after growing pauses if a server ends it, and continues with the others', async () => {
    let attempts = 0;
    const ending = server(LISTS, { 'subscriptions/listen': () => ((attempts += 1), {}) });
    const b = server();
    const { fleet, warnings } = fleetOf({ ending, b });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await vi.advanceTimersByTimeAsync(3_600_000);
    // One hour has 240 times 15 seconds.
    expect(attempts).toBeGreaterThan(120);
    expect(attempts).toBeLessThan(250);
    expect(warnings).toEqual(['the server "ending" does not answer subscriptions/listen: the subscription has ended']);
    await changed(b.subscribers[0], 'tools');
    expect(notificationsOf(exchange).at(-1)).toEqual(['tools/list_changed', undefined]);
  });

  test('does nothing at servers without subscriptions', async () => {
    const none = scripted({ 'tools/list': () => ({ tools: [] }) }, LISTS);
    const { fleet, warnings } = fleetOf({ none, b: server() });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(notificationsOf(exchange)).toEqual([['subscriptions/acknowledged', { toolsListChanged: true }]]);
    expect(none.seen.filter(({ method }) => method === 'subscriptions/listen')).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  test('fails if all servers refuse it', async () => {
    const refusing = server(LISTS, {
      'subscriptions/listen': () => {
        throw new RpcError(-32600, 'not for you');
      },
    });
    const { fleet } = fleetOf({ refusing, b: server() });
    const { over } = listen(fleet, { resourceSubscriptions: ['everwire+refusing:x:1'] });
    await expect(over).rejects.toMatchObject({ code: -32600, message: 'not for you' });
  });

  test.each([
    undefined,
    [],
    { resourceSubscriptions: 'x' },
    { resourceSubscriptions: [1] },
    { taskIds: Array.from({ length: 1001 }, String) },
    { resourceSubscriptions: ['x'.repeat(8193)] },
  ])('is refused with the filter %.60j', async (filter) => {
    const { over } = listen(fleetOf({ a: server() }).fleet, filter);
    await expect(over).rejects.toMatchObject({ code: -32602 });
  });

  test('ends with the fleet, and at once if the caller has left', async () => {
    const a = server();
    const { fleet } = fleetOf({ a });
    const { over } = listen(fleet, { toolsListChanged: true });
    await settled();
    fleet.close();
    expect(await over).toEqual({});
    await settled();
    expect(a.subscribers).toEqual([]);
    const gone = new TestExchange('subscriptions/listen', { notifications: {} });
    gone.abort();
    expect(await fleetOf({ a }).fleet.service(gone)).toEqual({});
  });
});

describe('an update of a fleet', () => {
  test('keeps unchanged members, and notifies subscribers', async () => {
    const [a, b, c] = [server(), server(), server()];
    const { fleet } = fleetOf({ a, b });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await settled();
    const [kept] = a.subscribers;
    fleet.update([
      { name: 'c', service: c.service },
      { name: 'a', service: a.service },
    ]);
    await settled();
    expect(fleet.names).toEqual(['c', 'a']);
    expect(a.subscribers).toEqual([kept]);
    expect(b.subscribers).toEqual([]);
    expect(c.subscribers).toHaveLength(1);
    expect(notificationsOf(exchange).slice(1)).toContainEqual(['tools/list_changed', undefined]);
    exchange.notified.length = 0;
    await changed(c.subscribers[0], 'tools');
    expect(notificationsOf(exchange)).toEqual([['tools/list_changed', undefined]]);
  });

  test('without changes sends no notification', async () => {
    const a = server();
    const { fleet } = fleetOf({ a });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await settled();
    fleet.update([{ name: 'a', service: a.service, tools: {} }]);
    await settled();
    expect(exchange.notified).toHaveLength(1);
    fleet.update([{ name: 'a', service: a.service, tools: { hide: ['x'] } }]);
    await settled();
    expect(notificationsOf(exchange).slice(1)).toContainEqual(['tools/list_changed', undefined]);
  });

  test('keeps the resource URIs that the subscriber used', async () => {
    const [a, b] = [server(), server()];
    const { fleet } = fleetOf({ a });
    const bare = listen(fleet, { resourceSubscriptions: ['x:1'] }).exchange;
    await settled();
    const members = [a, b].map(({ service }, index) => ({ name: 'ab'[index]!, service }));
    fleet.update(members);
    const named = listen(fleet, { resourceSubscriptions: ['everwire+a:x:1'] }).exchange;
    await settled();
    fleet.update(members.slice(0, 1));
    await settled();
    expect(a.subscribers).toHaveLength(2);
    for (const exchange of a.subscribers) await exchange.notify('notifications/resources/updated', { uri: 'x:1' });
    expect(notificationsOf(bare).slice(1)).toEqual([['resources/updated', 'x:1']]);
    expect(notificationsOf(named).slice(1)).toEqual([['resources/updated', 'everwire+a:x:1']]);
  });
});
