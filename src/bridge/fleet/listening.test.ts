import { getEventListeners } from 'node:events';
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

/** A server that is listened to; `heard` has the exchanges that are open. */
function server(
  capabilities: JsonObject = LISTS,
  more: Record<string, Answer> = {},
): { service: Service; seen: Exchange[]; heard: Exchange[] } {
  const heard: Exchange[] = [];
  const { service, seen } = scripted(
    {
      'subscriptions/listen': listening(heard),
      'tools/list': () => ({ tools: [] }),
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      ...more,
    },
    capabilities,
  );
  return { service, seen, heard };
}

function fleetOf(servers: Record<string, { service: Service }>): { fleet: Fleet; warnings: string[] } {
  const warnings: string[] = [];
  const members = Object.entries(servers).map(([name, { service }]) => ({ name, service }));
  const fleet = createFleet({ members, onwarning: (warning) => void warnings.push(warning), timeout: 1000 });
  onTestFinished(() => fleet.close());
  return { fleet, warnings };
}

/** What was said, in short. */
const said = ({ notified }: TestExchange): unknown[] =>
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

describe('listening to several servers', () => {
  test('is acknowledged once, with what any of them does, and tells what each says', async () => {
    const [a, b, c] = [server(), server({ tools: { listChanged: true } }), server({ prompts: {} })];
    const { fleet } = fleetOf({ a, b, c });
    await fleet.service(new TestExchange('server/discover'));
    const { exchange, over } = listen(fleet, { toolsListChanged: true, resourcesListChanged: true });
    await settled();
    expect(said(exchange)).toEqual([
      ['subscriptions/acknowledged', { toolsListChanged: true, resourcesListChanged: true }],
    ]);
    expect(a.heard[0]?.params).toEqual({ notifications: { toolsListChanged: true, resourcesListChanged: true } });
    expect(b.heard[0]?.params).toEqual({ notifications: { toolsListChanged: true } });
    // Its list never changes, and the caller has no session that could hear anything else.
    expect(c.heard).toEqual([]);
    await changed(b.heard[0], 'tools');
    await changed(a.heard[0], 'resources');
    // Nobody asked for it.
    await changed(a.heard[0], 'prompts');
    expect(said(exchange).slice(1)).toEqual([
      ['tools/list_changed', undefined],
      ['resources/list_changed', undefined],
    ]);
    exchange.abort();
    expect(await over).toEqual({});
    await settled();
    expect([a.heard, b.heard]).toEqual([[], []]);
  });

  test('of a session hears all of them, whatever changes there, with their names on log messages', async () => {
    const a = server({ prompts: {} });
    const { fleet } = fleetOf({ a });
    await fleet.service(new TestExchange('server/discover', {}, SESSION));
    const { exchange } = listen(fleet, { toolsListChanged: true }, SESSION);
    await settled();
    await a.heard[0]!.notify('notifications/message', { level: 'info', logger: 'db', data: 'x' });
    await a.heard[0]!.notify('notifications/custom', { x: 1 });
    expect(exchange.notified.slice(1)).toEqual([
      { method: 'notifications/message', params: { level: 'info', logger: 'a/db', data: 'x' } },
      { method: 'notifications/custom', params: { x: 1 } },
    ]);
  });

  test('names resources as the caller does, to the server that has them', async () => {
    const resources = (uris: string[]): Record<string, Answer> => ({
      'resources/list': () => ({ resources: uris.map((uri) => ({ uri, name: uri })) }),
    });
    const a = server(LISTS, resources(['x:both', 'x:a']));
    const b = server(LISTS, resources(['x:both', 'x:b']));
    const { fleet } = fleetOf({ a, b });
    const uris = ['x:b', 'everwire+b:x:both', 'x:a'];
    const { exchange } = listen(fleet, { resourceSubscriptions: uris });
    await settled();
    expect(said(exchange)).toEqual([['subscriptions/acknowledged', { resourceSubscriptions: uris }]]);
    expect(a.heard[0]?.params['notifications']).toEqual({ resourceSubscriptions: ['x:a'] });
    expect(b.heard[0]?.params['notifications']).toEqual({ resourceSubscriptions: ['x:b', 'x:both'] });
    await b.heard[0]!.notify('notifications/resources/updated', { uri: 'x:both' });
    await b.heard[0]!.notify('notifications/resources/updated', { uri: 'x:b' });
    // Parts of what was asked for, and what was not.
    for (const uri of ['x:b/part', 'x:both/1', 'x:bc'])
      await b.heard[0]!.notify('notifications/resources/updated', { uri });
    expect(said(exchange).slice(1)).toEqual([
      ['resources/updated', 'everwire+b:x:both'],
      ['resources/updated', 'x:b'],
      ['resources/updated', 'x:b/part'],
      ['resources/updated', 'everwire+b:x:both/1'],
      ['resources/updated', 'everwire+b:x:bc'],
    ]);
  });

  test('names tasks as the caller does', async () => {
    const [a, b] = [server(), server()];
    const { fleet } = fleetOf({ a, b });
    const { exchange } = listen(fleet, { taskIds: ['b:1', 'nobody:2'] });
    await settled();
    expect(said(exchange)).toEqual([['subscriptions/acknowledged', { taskIds: ['b:1'] }]]);
    expect(a.heard).toEqual([]);
    await b.heard[0]!.notify('notifications/tasks', { taskId: '1', status: 'working' });
    expect(exchange.notified[1]?.params).toEqual({ taskId: 'b:1', status: 'working' });
  });

  test('waits for a slow server no longer than it may, and tells nothing before the acknowledgement', async () => {
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
    await changed(b.heard[0], 'tools');
    expect(exchange.notified).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(said(exchange)).toEqual([
      ['subscriptions/acknowledged', { toolsListChanged: true }],
      ['tools/list_changed', undefined],
    ]);
    // What it said in the meantime nobody knows.
    acknowledge();
    await settled();
    expect(said(exchange)).toHaveLength(3);
  });

  test('goes on when one is lost: it is listened to again, and what may have been missed is told', async () => {
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
      await changed(b.heard[0], 'tools');
      expect(said(exchange)).toEqual([['tools/list_changed', undefined]]);
      await vi.advanceTimersByTimeAsync(1000);
      expect(said(exchange).slice(1)).toEqual(
        expect.arrayContaining([
          ['tools/list_changed', undefined],
          ['resources/updated', 'everwire+lost:x:1'],
        ]),
      );
    }
    expect(attempts).toBe(3);
    // It may end a subscription as it likes.
    expect(warnings).toEqual(['the server "lost" does not answer subscriptions/listen: Connection closed']);
  });

  test('asks one that ends it again and again ever more rarely, and goes on with the others', async () => {
    let attempts = 0;
    const ending = server(LISTS, { 'subscriptions/listen': () => ((attempts += 1), {}) });
    const b = server();
    const { fleet, warnings } = fleetOf({ ending, b });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await vi.advanceTimersByTimeAsync(3_600_000);
    // An hour has 240 quarters of a minute.
    expect(attempts).toBeGreaterThan(120);
    expect(attempts).toBeLessThan(250);
    expect(warnings).toEqual(['the server "ending" does not answer subscriptions/listen: the subscription has ended']);
    await changed(b.heard[0], 'tools');
    expect(said(exchange).at(-1)).toEqual(['tools/list_changed', undefined]);
  });

  test('leaves alone who has no subscriptions', async () => {
    const none = scripted({ 'tools/list': () => ({ tools: [] }) }, LISTS);
    const { fleet, warnings } = fleetOf({ none, b: server() });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said(exchange)).toEqual([['subscriptions/acknowledged', { toolsListChanged: true }]]);
    expect(none.seen.filter(({ method }) => method === 'subscriptions/listen')).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  test('fails where all refuse what is asked', async () => {
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
  ])('the filter %.60j is refused', async (filter) => {
    const { over } = listen(fleetOf({ a: server() }).fleet, filter);
    await expect(over).rejects.toMatchObject({ code: -32602 });
  });

  test('ends with the fleet, and at once for who is gone already', async () => {
    const a = server();
    const { fleet } = fleetOf({ a });
    const { over } = listen(fleet, { toolsListChanged: true });
    await settled();
    fleet.close();
    expect(await over).toEqual({});
    await settled();
    expect(a.heard).toEqual([]);
    const gone = new TestExchange('subscriptions/listen', { notifications: {} });
    gone.abort();
    expect(await fleetOf({ a }).fleet.service(gone)).toEqual({});
  });
});

describe('a fleet that changes', () => {
  test('leaves alone those that stay, and tells who listens', async () => {
    const [a, b, c] = [server(), server(), server()];
    const { fleet } = fleetOf({ a, b });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await settled();
    const [kept] = a.heard;
    fleet.update([
      { name: 'c', service: c.service },
      { name: 'a', service: a.service },
    ]);
    await settled();
    expect(fleet.names).toEqual(['c', 'a']);
    expect(a.heard).toEqual([kept]);
    expect(b.heard).toEqual([]);
    expect(c.heard).toHaveLength(1);
    expect(said(exchange).slice(1)).toContainEqual(['tools/list_changed', undefined]);
    exchange.notified.length = 0;
    await changed(c.heard[0], 'tools');
    expect(said(exchange)).toEqual([['tools/list_changed', undefined]]);
  });

  test('to what it is already says nothing', async () => {
    const a = server();
    const { fleet } = fleetOf({ a });
    const { exchange } = listen(fleet, { toolsListChanged: true });
    await settled();
    fleet.update([{ name: 'a', service: a.service, tools: {} }]);
    await settled();
    expect(exchange.notified).toHaveLength(1);
    fleet.update([{ name: 'a', service: a.service, tools: { hide: ['x'] } }]);
    await settled();
    expect(said(exchange).slice(1)).toContainEqual(['tools/list_changed', undefined]);
  });

  test('hears of names that change before it is asked for them', async () => {
    let names = ['search'];
    const a = server(LISTS, { 'tools/list': () => ({ tools: names.map((name) => ({ name })) }) });
    const b = server(LISTS, {
      'tools/list': () => ({ tools: [{ name: 'search' }] }),
      'tools/call': () => ({ content: ['b'] }),
    });
    const { fleet } = fleetOf({ a, b });
    listen(fleet, { toolsListChanged: true });
    await fleet.service(new TestExchange('tools/list'));
    const call = (): Promise<JsonObject> => fleet.service(new TestExchange('tools/call', { name: 'search' }));
    await expect(call()).rejects.toThrow('several servers have one');
    names = [];
    await changed(a.heard[0], 'tools');
    expect(await call()).toEqual({ content: ['b'] });
  });

  test('hears of names that change after others came, and after its caller was forgotten', async () => {
    const names = ['y'];
    const a = server();
    const b = server(LISTS, {
      'tools/list': () => ({ tools: names.map((name) => ({ name })) }),
      'tools/call': ({ params }) => ({ content: [params['name']] }),
    });
    const { fleet } = fleetOf({ a, b });
    const session = (): TestExchangeOptions => ({
      caller: { session: { id: 's', signal: new AbortController().signal } },
    });
    const own = session();
    const run = (method: string, params: JsonObject = {}): Promise<JsonObject> =>
      fleet.service(new TestExchange(method, params, own));
    listen(fleet, { toolsListChanged: true }, own);
    await settled();
    const hears = async (name: string): Promise<void> => {
      await settled();
      await run('tools/list');
      names.push(name);
      await changed(b.heard[0], 'tools');
      // No time has passed in which the list might have been looked at again.
      expect(await run('tools/call', { name })).toEqual({ content: [name] });
    };
    fleet.update([a, b, server()].map(({ service }, index) => ({ name: 'abc'[index]!, service })));
    await hears('new');
    for (let count = 0; count <= 1000; count += 1)
      await fleet.service(new TestExchange('prompts/list', {}, session())).catch(() => {});
    await hears('newer');
  });

  test('leads a subscription of a resource on to the server that has it then', async () => {
    const uris = ['x:1'];
    const a = server(LISTS, { 'resources/list': () => ({ resources: uris.map((uri) => ({ uri, name: uri })) }) });
    const b = server(LISTS, { 'resources/list': () => ({ resources: [{ uri: 'y:1', name: 'y' }] }) });
    const { fleet } = fleetOf({ a, b });
    const { exchange } = listen(fleet, { resourceSubscriptions: ['x:1', 'y:1'] });
    await settled();
    expect(a.heard.map(({ params }) => params)).toEqual([{ notifications: { resourceSubscriptions: ['x:1'] } }]);
    uris.push('y:1');
    fleet.update([{ name: 'a', service: a.service }]);
    await settled();
    expect(b.heard).toEqual([]);
    expect(a.heard.map(({ params }) => params)).toEqual([{ notifications: { resourceSubscriptions: ['x:1', 'y:1'] } }]);
    expect(said(exchange).slice(1)).toEqual([
      ['resources/updated', 'x:1'],
      ['resources/updated', 'y:1'],
    ]);
    await a.heard[0]!.notify('notifications/resources/updated', { uri: 'y:1' });
    expect(said(exchange)).toHaveLength(4);
    // And back again.
    uris.pop();
    fleet.update([a, b].map(({ service }, index) => ({ name: 'ab'[index]!, service })));
    await settled();
    expect([a, b].map(({ heard }) => heard.map(({ params }) => params['notifications']))).toEqual([
      [{ resourceSubscriptions: ['x:1'] }],
      [{ resourceSubscriptions: ['y:1'] }],
    ]);
  });

  test('goes on with what it listened to until a server listens to more, and where it refuses that', async () => {
    const listed = (...uris: string[]): Record<string, Answer> => ({
      'resources/list': () => ({ resources: uris.map((uri) => ({ uri, name: uri })) }),
    });
    const [heard, asked]: [Exchange[], Exchange[]] = [[], []];
    let answer: (exchange: Exchange) => Promise<void> = () => Promise.resolve();
    const a = server(LISTS, {
      ...listed('x:1'),
      'subscriptions/listen': async (exchange) => {
        asked.push(exchange);
        await answer(exchange);
        return listening(heard)(exchange);
      },
    });
    const [b, c] = [server(LISTS, listed('y:1', 'z:1')), server(LISTS, listed('z:1'))];
    const { fleet } = fleetOf({ a, b });
    const { exchange } = listen(fleet, { resourceSubscriptions: ['x:1', 'y:1', 'z:1'] });
    await settled();
    const update = async (...servers: { service: Service }[]): Promise<void> => {
      fleet.update(servers.map(({ service }, index) => ({ name: 'ac'[index]!, service })));
      await settled();
    };
    answer = ({ signal }) => aborted(signal).then(() => Promise.reject(new Error('given up')));
    await update(a);
    answer = () => Promise.reject(new RpcError(-32600, 'too much'));
    await update(a, c);
    expect(asked.map(({ params, signal }) => [params['notifications'].resourceSubscriptions, signal.aborted])).toEqual([
      [['x:1'], false],
      [['x:1', 'y:1', 'z:1'], true],
      [['x:1', 'y:1'], false],
    ]);
    expect(heard).toEqual([asked[0]]);
    exchange.notified.length = 0;
    await asked[0]!.notify('notifications/resources/updated', { uri: 'x:1' });
    expect(said(exchange)).toEqual([['resources/updated', 'x:1']]);
    exchange.abort();
    await settled();
    expect(heard).toEqual([]);
  });

  test('leaves nothing on the signals of sessions, however often their callers are forgotten', async () => {
    const { fleet } = fleetOf({ a: server() });
    const sessions = Array.from({ length: 1101 }, (_, id) => ({
      id: String(id),
      signal: new AbortController().signal,
    }));
    for (let round = 0; round < 3; round += 1) {
      for (const session of sessions) await fleet.service(new TestExchange('tools/list', {}, { caller: { session } }));
    }
    const counts = (): number[] => sessions.map(({ signal }) => getEventListeners(signal, 'abort').length);
    expect(Math.max(...counts())).toBe(1);
    fleet.close();
    expect(Math.max(...counts())).toBe(0);
  });
});
