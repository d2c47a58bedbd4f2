import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange, type TestExchangeOptions } from '../../test/support/exchange.ts';
import { deferred } from '../../test/support/service.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { memoryTaskStore } from '../store/memory-tasks.ts';
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

test('the acknowledgement comes first and contains the accepted filter', async () => {
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

test('unsupported kinds of changes are not accepted', async () => {
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

test('a server announces changes of lists that it does not keep itself', async () => {
  const { server, listen } = setUp();
  const all = listen(everything);
  const tools = listen({ toolsListChanged: true });
  server.listChanged('resources');
  server.listChanged('resources');
  await settled();
  expect(all.methods()).toEqual(['subscriptions/acknowledged', 'resources/list_changed']);
  expect(tools.methods()).toEqual(['subscriptions/acknowledged']);
  expect(() => server.listChanged('resource' as never)).toThrow(
    'there is no list "resource": use tools, prompts, resources',
  );
});

test('a change is sent once to each subscriber, until it leaves', async () => {
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

test('an update of a resource is sent to the subscribers of that resource', async () => {
  const { server, listen } = setUp();
  const one = listen({ resourceSubscriptions: ['a://1', 'a://2'] });
  const other = listen({ resourceSubscriptions: ['a://3'], ...everything });
  server.resourceUpdated('a://2');
  await settled();
  expect(one.exchange.notified.at(-1)).toEqual({ method: 'notifications/resources/updated', params: { uri: 'a://2' } });
  expect(other.methods()).toEqual(['subscriptions/acknowledged']);
});

test('at most one notification of each kind waits for a subscriber that does not read', async () => {
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

test('a notification that fails is reported by its exchange, and the next subscriber still gets it', async () => {
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

test('if the acknowledgement cannot be sent, there is no subscription', async () => {
  const { server, listen } = setUp();
  const one = listen(everything, {
    onnotify: () => {
      throw new Error('broken pipe');
    },
  });
  await expect(one.done).rejects.toMatchObject({ cause: { message: 'broken pipe' } });
  server.tool('u', {}, () => 1);
  await settled();
  expect(one.exchange.notified).toHaveLength(1);
});

test('a caller that has left is not subscribed', async () => {
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
  { notifications: { resourceSubscriptions: Array.from({ length: 1001 }, (_, n) => `a://${n}`) } },
  { notifications: { resourceSubscriptions: ['a'.repeat(8193)] } },
  { notifications: { resourceSubscriptions: Array.from({ length: 100 }, (_, n) => `${n}`.padEnd(8000)) } },
])('a malformed or too large filter is refused: %#', async (params) => {
  const { server } = setUp();
  await expect(server.service(new TestExchange('subscriptions/listen', params))).rejects.toMatchObject({
    code: -32602,
  });
});

test('a thousand URIs are accepted, and each is reported once', async () => {
  const { server, listen } = setUp();
  const uris = Array.from({ length: 999 }, (_, n) => `a://${n}`);
  const one = listen({ resourceSubscriptions: [...uris, 'a://7'] });
  expect(one.exchange.notified[0]?.params).toEqual({ notifications: { resourceSubscriptions: uris } });
  server.resourceUpdated('a://7');
  server.resourceUpdated('a://998');
  server.resourceUpdated('a://999');
  await settled();
  expect(one.exchange.notified.slice(1).map(({ params }) => params?.['uri'])).toEqual(['a://7', 'a://998']);
});

test('each of several subscribers of a resource gets its updates until it leaves', async () => {
  const { server, listen } = setUp();
  const all = Array.from({ length: 3 }, () => listen({ resourceSubscriptions: ['a://1'] }));
  for (const leaving of all) {
    server.resourceUpdated('a://1');
    await settled();
    leaving.exchange.abort();
    await leaving.done;
  }
  server.resourceUpdated('a://1');
  const again = listen({ resourceSubscriptions: ['a://1'] });
  server.resourceUpdated('a://1');
  await settled();
  expect([...all, again].map((one) => one.methods().length - 1)).toEqual([1, 2, 3, 1]);
});

test('an update does no work for subscribers of other resources', async () => {
  const { server, listen } = setUp();
  const others = Array.from({ length: 2000 }, (_, n) => listen({ resourceSubscriptions: [`b://${n}`] }));
  const one = listen({ resourceSubscriptions: ['a://1'] });
  // Reading any other filter would be noticed.
  for (const { exchange } of others) Object.freeze(exchange.notified);
  server.resourceUpdated('a://1');
  await settled();
  expect(one.methods()).toEqual(['subscriptions/acknowledged', 'resources/updated']);
  for (const { exchange } of others) exchange.abort();
  expect(await Promise.all(others.map(({ done }) => done))).toEqual(others.map(() => ({})));
});

describe('a change that thousands of subscribers are told', () => {
  const MANY = 3000;
  const counts = (all: { methods: () => string[] }[]) => all.map((one) => one.methods().length - 1);
  const heard = (all: { methods: () => string[] }[]) => counts(all).filter((count) => count > 0).length;

  test.each([
    ['a resource', (server: McpServer) => server.resourceUpdated('a://1')],
    ['a list', (server: McpServer) => server.listChanged('tools')],
  ])('does not block others: %s', async (_, change) => {
    const { server, listen } = setUp();
    const all = Array.from({ length: MANY }, () => listen({ ...everything, resourceSubscriptions: ['a://1'] }));
    change(server);
    await settled();
    // Timers, sockets and other requests run now.
    expect(heard(all)).toBeLessThan(MANY);
    await vi.waitFor(() => expect(heard(all)).toBe(MANY));
    expect(Math.max(...counts(all))).toBe(1);
  });

  test('reaches each subscriber in order, and only the newest one of a kind waits', async () => {
    const { server, listen } = setUp();
    const all = Array.from({ length: MANY }, () => listen({ resourceSubscriptions: ['a://1', 'a://2'] }));
    for (let round = 0; round < 3; round += 1) {
      server.resourceUpdated('a://1');
      server.resourceUpdated('a://2');
    }
    const late = listen({ resourceSubscriptions: ['a://1', 'a://2'] });
    await vi.waitFor(() => expect(counts(all).every((count) => count >= 2)).toBe(true));
    await settled();
    const uris = ({ exchange }: { exchange: TestExchange }) =>
      exchange.notified.slice(1).map(({ params }) => params?.['uri']);
    expect(uris(all.at(-1)!)).toEqual(['a://1', 'a://2']);
    expect(uris(late)).toEqual([]);
  });

  test('no longer reaches those who leave before their turn', async () => {
    const { server, listen } = setUp();
    const all = Array.from({ length: MANY }, () => listen({ resourceSubscriptions: ['a://1'] }));
    server.resourceUpdated('a://1');
    await settled();
    const before = heard(all);
    for (const { exchange } of all) exchange.abort();
    await Promise.all(all.map(({ done }) => done));
    for (let turn = 0; turn < 20; turn += 1) await settled();
    expect(heard(all)).toBe(before);
  });
});

describe('task subscriptions', () => {
  const TASKS = 'io.modelcontextprotocol/tasks';
  const caller = (principal?: string, capabilities: JsonObject = { elicitation: {}, extensions: { [TASKS]: {} } }) => ({
    caller: { revision: '2026-07-28', capabilities, principal } as const,
  });

  function withTasks() {
    // Time stands still, so that a slow machine does not leave work for later turns.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const base = setUp();
    const asks = deferred();
    base.server.tool('asks', { task: true }, async (_, ctx) => {
      await asks.promise;
      await ctx.elicit({ message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }, { key: 'q' });
      return 'done';
    });
    const send = (method: string, params: JsonObject, principal?: string) =>
      base.server.service(new TestExchange(method, params, caller(principal)));
    const begin = async (principal?: string): Promise<string> =>
      (await send('tools/call', { name: 'asks' }, principal))['taskId'];
    // The library that checks answers is loaded on first use.
    const until = (id: string, status: string) =>
      vi.waitFor(async () => expect(await send('tasks/get', { taskId: id })).toMatchObject({ status }));
    return { ...base, send, begin, until, releaseQuestion: asks.resolve };
  }

  const changes = ({ exchange }: { exchange: TestExchange }) =>
    exchange.notified
      .filter(({ method }) => method === 'notifications/tasks')
      .map(({ params }) => [params?.['taskId'], params?.['status']]);

  test('get the complete new state of a task', async () => {
    const { listen, begin, releaseQuestion, send, until } = withTasks();
    const [first, second] = [await begin(), await begin()];
    const one = listen({ taskIds: [first] }, caller());
    await settled();
    expect(one.exchange.notified).toEqual([
      { method: 'notifications/subscriptions/acknowledged', params: { notifications: { taskIds: [first] } } },
    ]);
    releaseQuestion();
    await settled();
    await send('tasks/update', { taskId: first, inputResponses: { q: { action: 'accept', content: {} } } });
    await send('tasks/cancel', { taskId: second });
    await until(first, 'completed');
    expect(changes(one).at(0)).toEqual([first, 'input_required']);
    await vi.waitFor(() => expect(changes(one).at(-1)).toEqual([first, 'completed']));
    const { resultType, ...task } = await send('tasks/get', { taskId: first });
    expect(resultType).toBe('complete');
    expect(one.exchange.notified.at(-1)?.params).toEqual(task);
  });

  test('do not include tasks of other principals and unknown tasks', async () => {
    const { listen, begin, releaseQuestion } = withTasks();
    const [anns, bobs] = [await begin('ann'), await begin('bob')];
    const ann = listen({ ...everything, taskIds: [bobs, 'none', anns] }, caller('ann'));
    const nobody = listen({ taskIds: [anns, bobs] }, caller());
    await settled();
    expect(ann.exchange.notified[0]?.params).toEqual({ notifications: { ...everything, taskIds: [anns] } });
    expect(nobody.exchange.notified[0]?.params).toEqual({ notifications: {} });
    releaseQuestion();
    await settled();
    expect(changes(ann)).toEqual([[anns, 'input_required']]);
    expect(changes(nobody)).toEqual([]);
  });

  test('get the state of tasks that wait or have ended at once, after the acknowledgement', async () => {
    const { server, listen, begin, releaseQuestion, send } = withTasks();
    const [asking, over] = [await begin(), await begin()];
    releaseQuestion();
    await settled();
    await send('tasks/cancel', { taskId: over });
    const late = listen({ toolsListChanged: true, taskIds: [asking, over] }, caller());
    server.tool('another', {}, () => 1);
    await settled();
    expect(late.methods()[0]).toBe('subscriptions/acknowledged');
    expect(late.methods()).toContain('tools/list_changed');
    expect(changes(late)).toEqual([
      [asking, 'input_required'],
      [over, 'cancelled'],
    ]);
  });

  test('are not accepted from callers without the extension', async () => {
    const { listen, begin } = withTasks();
    const id = await begin();
    await expect(listen({ taskIds: [id] }, caller(undefined, {})).done).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    });
  });

  test('keep only the newest state for a subscriber that does not read', async () => {
    const { listen, begin, releaseQuestion, send, until } = withTasks();
    const id = await begin();
    const taken: (() => void)[] = [];
    const onnotify = (method: string): Promise<void> | void => {
      if (method === 'notifications/tasks') return new Promise((resolve) => taken.push(resolve));
    };
    const slow = listen({ taskIds: [id] }, { ...caller(), onnotify });
    await settled();
    releaseQuestion();
    await settled();
    await send('tasks/update', { taskId: id, inputResponses: { q: { action: 'accept', content: {} } } });
    await until(id, 'completed');
    expect(changes(slow)).toEqual([[id, 'input_required']]);
    while (taken.length > 0) {
      taken.shift()?.();
      await settled();
    }
    expect(changes(slow)).toEqual([
      [id, 'input_required'],
      [id, 'completed'],
    ]);
  });

  describe('of large tasks', () => {
    const MB = 1024 * 1024;

    /** Tasks that have each a result of a megabyte when they are released, and how often the store was read. */
    async function large(count: number) {
      const store = memoryTaskStore();
      const get = vi.spyOn(store, 'get');
      const sized = new McpServer({ name: 'large', version: '1', tasks: { store } });
      const release = deferred();
      sized.tool('large', { task: true }, async () => {
        await release.promise;
        return 'x'.repeat(MB);
      });
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1) {
        const begun = await sized.service(new TestExchange('tools/call', { name: 'large' }, caller('ada')));
        ids.push(begun['taskId']);
      }
      const state = (id: string) => sized.service(new TestExchange('tasks/get', { taskId: id }, caller('ada')));
      const until = (status: string) =>
        vi.waitFor(async () => {
          for (const id of ids) expect(await state(id)).toMatchObject({ status });
        });
      const subscribe = (onnotify?: TestExchangeOptions['onnotify']) => {
        const exchange = new TestExchange(
          'subscriptions/listen',
          { notifications: { taskIds: ids } },
          { ...caller('ada'), ...(onnotify && { onnotify }) },
        );
        void sized.service(exchange);
        return { exchange };
      };
      return { ids, release, until, subscribe, reads: get.mock.calls };
    }

    test('do not block others while they are looked up', async () => {
      const { release, until, subscribe, ids } = await large(150);
      release.resolve();
      await until('completed');
      const one = subscribe();
      await settled();
      await settled();
      expect(one.exchange.notified).toEqual([]);
      await vi.waitFor(() => expect(changes(one)).toHaveLength(150));
      expect(new Set(changes(one).map(([id]) => id))).toEqual(new Set(ids));
    });

    test('take no memory for subscribers that do not read: the state is read when it is sent', async () => {
      const { release, until, subscribe, reads } = await large(20);
      const taken: (() => void)[] = [];
      const slow = Array.from({ length: 10 }, () =>
        subscribe((method) =>
          method === 'notifications/tasks' ? new Promise<void>((resolve) => taken.push(resolve)) : undefined,
        ),
      );
      await vi.waitFor(() => expect(slow.every(({ exchange }) => exchange.notified.length === 1)).toBe(true));
      release.resolve();
      await until('completed');
      await vi.waitFor(() => expect(taken).toHaveLength(10));
      expect(slow.map((one) => changes(one).length)).toEqual(slow.map(() => 1));
      const before = reads.length;
      for (let n = 0; n < 10; n += 1) await settled();
      expect(reads.length).toBe(before);
      while (slow.some((one) => changes(one).length < 20)) {
        for (const take of taken.splice(0)) take();
        await settled();
      }
      expect(slow.map((one) => new Set(changes(one).map(String)).size)).toEqual(slow.map(() => 20));
      // Each state is read once for all of them, or a few times if one is faster than the others.
      expect(reads.length - before).toBeGreaterThanOrEqual(19);
      expect(reads.length - before).toBeLessThan(100);
    });

    test('share the result with all subscribers, each of which gets all of it', async () => {
      const { release, until, subscribe } = await large(1);
      const all = Array.from({ length: 50 }, () => subscribe());
      await vi.waitFor(() => expect(all.every(({ exchange }) => exchange.notified.length === 1)).toBe(true));
      release.resolve();
      await until('completed');
      await vi.waitFor(() => expect(all.map((one) => changes(one).length)).toEqual(all.map(() => 1)));
      const results = all.map(({ exchange }) => exchange.notified[1]?.params?.['result'] as unknown);
      expect(results[0]).toMatchObject({ content: [{ text: 'x'.repeat(MB) }] });
      expect(new Set(results).size).toBe(1);
    });
  });

  test('are removed with the subscriber, even while it waits for the store', async () => {
    const { listen, begin, releaseQuestion } = withTasks();
    const id = await begin();
    const leaves = listen({ taskIds: [id] }, caller());
    leaves.exchange.abort();
    expect(await leaves.done).toEqual({});
    releaseQuestion();
    await settled();
    expect(leaves.exchange.notified).toEqual([]);
  });

  test.each([[['x', 1]], ['x'], [Array.from({ length: 1001 }, (_, n) => `${n}`)]])(
    'are refused if the list is malformed or too long: %#',
    async (taskIds) => {
      const { listen } = withTasks();
      await expect(listen({ taskIds }, caller()).done).rejects.toMatchObject({ code: -32602 });
    },
  );
});
