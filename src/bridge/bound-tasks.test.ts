import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TestExchange, type TestExchangeOptions } from '../../test/support/exchange.ts';
import { deferred, listening, scripted, settled } from '../../test/support/service.ts';
import type { Exchange, Service } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import { serve } from '../wire/serve.ts';
import { bindTasks } from './bound-tasks.ts';
import { createBridge, type Bridge, type BridgeOptions } from './bridge.ts';
import { createFleet } from './fleet/fleet.ts';

// It is loaded when it is first needed, which takes a while.
beforeAll(() => import('../wire/negotiate.ts'));

const RELATED = 'io.modelcontextprotocol/related-task';
const related = (taskId: string): JsonObject => ({ [RELATED]: { taskId } });

/** A bridge to one server with tasks. The server sees one caller. */
function bridged(options: Partial<BridgeOptions> = {}, eras: 'legacy' | 'modern' = 'modern') {
  const subscribers: Exchange[] = [];
  const task = (taskId: string): JsonObject => ({ taskId, status: 'working' });
  const { service, seen } = scripted(
    {
      'tools/call': () => ({ resultType: 'task', ...task('t') }),
      'vendor/begin': () => ({ task: task('t'), _meta: related('t') }),
      'tasks/get': ({ params }) => task(params['taskId']),
      'tasks/result': async (exchange) => {
        const meta = related(exchange.params['taskId']);
        await exchange.notify('notifications/message', { level: 'info', data: 'x', _meta: meta });
        return {
          answer: await exchange.ask('elicitation/create', { message: 'm', requestedSchema: {}, _meta: meta }),
          _meta: meta,
        };
      },
      'tasks/list': () => ({ tasks: [task('t')] }),
      'subscriptions/listen': listening(subscribers),
    },
    { tasks: { list: {}, cancel: {} } },
  );
  return { bridge: bridgeTo(service, eras, options), seen, subscribers };
}

function bridgeTo(service: Service, eras: 'legacy' | 'modern', options: Partial<BridgeOptions>): Bridge {
  const bridge = createBridge({
    target: () => {
      const [near, far] = memoryTransportPair();
      void serve(service, far, { eras });
      return near;
    },
    ...options,
  });
  onTestFinished(() => bridge.close());
  return bridge;
}

function from(
  principal: string | undefined,
  method: string,
  params: JsonObject = {},
  options: TestExchangeOptions = {},
): TestExchange & Exchange {
  const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const caller = { revision: '2026-07-28', capabilities, principal, ...options.caller } as const;
  return new TestExchange(method, params, { ...options, caller });
}

const NOT_FOUND = {
  code: -32602,
  message: 'Task not found: there is no task with this id, or it has expired',
};

test.each<[string, Partial<BridgeOptions>]>([
  ['own', {}],
  ['shared', { connections: 'shared' }],
  ['pooled', { connections: 2 }],
])('only the principal that created a task can use it (connection: %s)', async (_, options) => {
  const { bridge, seen } = bridged(options);
  const { taskId } = await bridge.service(from('ann', 'tools/call', { name: 'x' }));
  expect(taskId).toMatch(/^t\.[\w-]{22}$/);
  expect(await bridge.service(from('ann', 'tasks/get', { taskId }))).toMatchObject({ taskId, status: 'working' });
  expect(seen.at(-1)!.params).toMatchObject({ taskId: 't' });
  const before = seen.length;
  const altered = taskId.slice(0, -1) + (taskId.endsWith('A') ? 'B' : 'A');
  for (const exchange of [
    from('bob', 'tasks/get', { taskId }),
    from('ann', 'tasks/get', { taskId: 't' }),
    from('ann', 'tasks/get', { taskId: '' }),
    from('ann', 'tasks/get', { taskId: altered }),
    from('ann', 'tasks/get', { taskId: `é${taskId}` }),
    from('bob', 'vendor/begin', { _meta: related(taskId) }),
  ]) {
    await expect(bridge.service(exchange)).rejects.toMatchObject(NOT_FOUND);
  }
  expect(seen).toHaveLength(before);
});

test('every field that holds a task id is bound to the principal', async () => {
  const { bridge } = bridged({}, 'legacy');
  const session = { id: 's', signal: new AbortController().signal };
  const caller = { session, revision: '2025-11-25' } as const;
  const begun = await bridge.service(from('ann', 'vendor/begin', {}, { caller }));
  const { taskId } = begun['task'];
  expect(taskId).toMatch(/^t\.[\w-]{22}$/);
  expect(begun['_meta']).toMatchObject(related(taskId));
  const onask = (_: string, { _meta }: JsonObject): JsonObject => ({ action: 'accept', content: {}, _meta });
  const exchange = from('ann', 'tasks/result', { taskId }, { onask, caller });
  // The server gets its own id back with the answer.
  expect(await bridge.service(exchange)).toMatchObject({
    answer: { action: 'accept', _meta: related('t') },
    _meta: related(taskId),
  });
  expect(exchange.asked).toMatchObject([{ params: { _meta: related(taskId) } }]);
});

test.each(['eve', 'ann'])(
  'a request for a task hears of it, although %s creates 10,000 others meanwhile',
  async (principal) => {
    const [asks, waiting] = [deferred(), deferred()];
    let count = 0;
    const middleware = bindTasks({ target: 'http://one.example/mcp', stateKey: undefined, shared: true });
    const service = middleware(async (exchange) => {
      if (exchange.method !== 'tasks/result') return { task: { taskId: `t${(count += 1)}` } };
      waiting.resolve();
      await asks.promise;
      const meta = related(exchange.params['taskId']);
      await exchange.notify('notifications/message', { level: 'info', data: 'x', _meta: meta });
      await exchange.ask('elicitation/create', { message: 'm', requestedSchema: {}, _meta: meta });
      return { _meta: meta };
    });
    const { taskId } = (await service(from('ann', 'vendor/begin')))['task'];
    const exchange = from('ann', 'tasks/result', { taskId }, { onask: () => ({ action: 'decline' }) });
    const result = service(exchange);
    await waiting.promise;
    for (let each = 0; each < 10_000; each += 1) await service(from(principal, 'vendor/begin'));
    asks.resolve();
    expect(await result).toEqual({ _meta: related(taskId) });
    expect(exchange.notified).toMatchObject([{ params: { data: 'x', _meta: related(taskId) } }]);
    expect(exchange.asked).toMatchObject([{ params: { _meta: related(taskId) } }]);
  },
);

test('a principal hears of its task in any request, although another one creates 10,000 tasks', async () => {
  let count = 0;
  const middleware = bindTasks({ target: 'http://one.example/mcp', stateKey: undefined, shared: true });
  const service = middleware(async (exchange) => {
    if (exchange.method === 'vendor/begin') return { task: { taskId: `t${(count += 1)}` } };
    await exchange.notify('notifications/message', { level: 'info', data: 'x', _meta: related('t1') });
    return {};
  });
  const { taskId } = (await service(from('ann', 'vendor/begin')))['task'];
  for (let each = 0; each < 10_000; each += 1) await service(from('eve', 'vendor/begin'));
  const exchange = from('ann', 'prompts/get', { name: 'x' });
  await service(exchange);
  expect(exchange.notified).toMatchObject([{ params: { _meta: related(taskId) } }]);
});

test('a subscription can name only the tasks of its own principal', async () => {
  const { bridge, subscribers } = bridged();
  const { taskId } = await bridge.service(from('ann', 'tools/call', { name: 'x' }));
  const notifications = { taskIds: [taskId, 't'], toolsListChanged: true };
  const listen = from('ann', 'subscriptions/listen', { notifications });
  const stranger = from('bob', 'subscriptions/listen', { notifications });
  const listens = [listen, stranger].map((each) => bridge.service(each));
  await expect.poll(() => subscribers.length).toBe(2);
  await expect.poll(() => [listen, stranger].every(({ notified }) => notified.length > 0)).toBe(true);
  expect(listen.notified[0]!.params).toMatchObject({ notifications: { taskIds: [taskId] } });
  expect(stranger.notified[0]!.params).toMatchObject({ notifications: { taskIds: [] } });
  for (const each of subscribers) await each.notify('notifications/tasks', { taskId: 't', status: 'completed' });
  await expect.poll(() => listen.notified[1]).toMatchObject({ params: { taskId, status: 'completed' } });
  expect(stranger.notified).toHaveLength(1);
  listen.abort();
  stranger.abort();
  await Promise.allSettled(listens);
});

describe('on a shared connection', () => {
  const message = (data: string, taskId?: string): JsonObject => ({
    level: 'info',
    data,
    ...(taskId !== undefined && { _meta: related(taskId) }),
  });

  test('a notification or a question of a task does not reach a caller that did not request that task', async () => {
    const { service } = scripted({
      'tools/call': async (exchange) => {
        await exchange.notify('notifications/message', message('foreign', 'other'));
        await exchange.notify('notifications/message', message('own'));
        return exchange.ask('elicitation/create', { message: 'm', requestedSchema: {}, _meta: related('other') });
      },
    });
    const bridge = bridgeTo(service, 'legacy', { connections: 'shared' });
    const exchange = from('ann', 'tools/call', { name: 'x' });
    await expect(bridge.service(exchange)).rejects.toThrow('the client has no such task');
    expect(exchange.notified).toMatchObject([{ params: { data: 'own' } }]);
    expect(exchange.asked).toEqual([]);
  });

  test('the only session that listens does not get the status of a task that it did not create', async () => {
    const { service } = scripted({
      'vendor/begin': () => ({ task: { taskId: 'own', status: 'working' } }),
      'tools/call': async (exchange) => {
        await exchange.notify('notifications/tasks/status', { taskId: 'other', status: 'working' });
        await exchange.notify('notifications/tasks/status', { taskId: 'own', status: 'working' });
        return { content: [] };
      },
    });
    const bridge = bridgeTo(service, 'legacy', { connections: 'shared' });
    const session = { id: 's', signal: new AbortController().signal };
    const options = { caller: { session, revision: '2025-11-25' } } as const;
    const listen = from('ann', 'subscriptions/listen', { notifications: {} }, options);
    const over = bridge.service(listen);
    await expect.poll(() => listen.notified.length).toBe(1);
    const { taskId } = (await bridge.service(from('ann', 'vendor/begin', { task: {} }, options)))['task'];
    await bridge.service(from('ann', 'tools/call', { name: 'x' }, options));
    await expect.poll(() => listen.notified.slice(1)).toMatchObject([{ params: { taskId } }]);
    listen.abort();
    await over.catch(() => {});
  });

  test('a notification of a task reaches any request of its principal that waits for the task', async () => {
    const waiting = deferred();
    const begun = deferred();
    const { service } = scripted({
      'vendor/begin': () => ({ task: { taskId: 't', status: 'working' } }),
      'tasks/get': async ({ params }) => {
        begun.resolve();
        await waiting.promise;
        return { taskId: params['taskId'], status: 'working' };
      },
      'prompts/get': async (exchange) => {
        await exchange.notify('notifications/message', message('of the task', 't'));
        return { messages: [] };
      },
    });
    const bridge = bridgeTo(service, 'legacy', { connections: 'shared' });
    const { taskId } = (await bridge.service(from('ann', 'vendor/begin')))['task'];
    const get = bridge.service(from('ann', 'tasks/get', { taskId }));
    await begun.promise;
    const [ann, bob] = ['ann', 'bob'].map((principal) => from(principal, 'prompts/get', { name: 'x' }));
    await bridge.service(ann!);
    waiting.resolve();
    await get;
    await bridge.service(bob!);
    expect(ann!.notified).toMatchObject([{ params: { data: 'of the task', _meta: related(taskId) } }]);
    expect(bob!.notified).toEqual([]);
  });
});

test.each<[string, string, JsonObject]>([
  ['an id that is not a string', 'tasks/get', { taskId: ['t'] }],
  ['a different case', 'tasks/get', { TaskID: 't' }],
  ['an underscore', 'tasks/get', { task_id: 't' }],
  ['a letter that some libraries treat as an ASCII letter', 'tasks/get', { taſkId: 't' }],
  ['a string instead of a list', 'subscriptions/listen', { notifications: { taskIds: 't' } }],
  ['a list of values that are not strings', 'subscriptions/listen', { notifications: { taskIds: [['t']] } }],
  ['a different case inside the filter', 'subscriptions/listen', { notifications: { TaskIds: ['t'] } }],
  ["a different case of the filter's name", 'subscriptions/listen', { Notifications: { taskIds: ['t'] } }],
])('task ids in a form that only some servers accept are refused: %s', async (_, method, params) => {
  const { bridge, seen } = bridged();
  await expect(bridge.service(from('bob', method, params))).rejects.toMatchObject({ code: -32602 });
  expect(seen.filter((exchange) => exchange.method === method)).toEqual([]);
});

test('behind a fleet, only the principal that created a task can use it, and only at its server', async () => {
  const [one, two] = [bridged(), bridged()];
  const fleet = createFleet({
    members: [
      { name: 'one', service: one.bridge.service },
      { name: 'two', service: two.bridge.service },
    ],
  });
  onTestFinished(() => fleet.close());
  const { taskId } = await fleet.service(from('ann', 'tools/call', { name: 'one__x' }));
  expect(taskId).toMatch(/^one:t\.[\w-]{22}$/);
  expect(await fleet.service(from('ann', 'tasks/get', { taskId }))).toMatchObject({ taskId, status: 'working' });
  expect(one.seen.at(-1)!.params).toMatchObject({ taskId: 't' });
  await expect(fleet.service(from('bob', 'tasks/get', { taskId }))).rejects.toMatchObject(NOT_FOUND);
  await expect(fleet.service(from('ann', 'tasks/get', { taskId: 'one:t' }))).rejects.toMatchObject(NOT_FOUND);
  await expect(fleet.service(from('bob', 'tasks/get', { task_id: 'one:t' }))).rejects.toMatchObject({ code: -32602 });
  const listens = ['ann', 'bob'].map((principal) =>
    from(principal, 'subscriptions/listen', { notifications: { taskIds: [taskId] } }),
  );
  const over = listens.map((listen) => fleet.service(listen));
  await expect.poll(() => listens.every(({ notified }) => notified.length > 0)).toBe(true);
  for (const subscribers of one.subscribers)
    await subscribers.notify('notifications/tasks', { taskId: 't', status: 'completed' });
  await expect.poll(() => listens[0]!.notified[1]).toMatchObject({ params: { taskId, status: 'completed' } });
  expect(listens[1]!.notified).toHaveLength(1);
  for (const listen of listens) listen.abort();
  await Promise.allSettled(over);
});

test('tasks are not listed if the list could contain those of other clients', async () => {
  const { bridge } = bridged({}, 'legacy');
  expect(await bridge.service(from('ann', 'server/discover'))).toMatchObject({
    capabilities: { tasks: { cancel: {} } },
  });
  const { capabilities } = await bridge.service(from('ann', 'server/discover'));
  expect(capabilities.tasks).toEqual({ cancel: {} });
  await expect(bridge.service(from('ann', 'tasks/list'))).rejects.toMatchObject({ code: -32601 });
});

test('a caller without a principal gets task ids unchanged', async () => {
  const { bridge } = bridged();
  expect(await bridge.service(from(undefined, 'tools/call', { name: 'x' }))).toMatchObject({ taskId: 't' });
  expect(await bridge.service(from(undefined, 'tasks/get', { taskId: 't' }))).toMatchObject({ taskId: 't' });
});

test('bridges with the same key accept the task ids of each other', async () => {
  const stateKey = 'a secret of many bytes';
  const [one, two, other] = [bridged({ stateKey }), bridged({ stateKey }), bridged()];
  const { taskId } = await one.bridge.service(from('ann', 'tools/call', { name: 'x' }));
  expect(await two.bridge.service(from('ann', 'tasks/get', { taskId }))).toMatchObject({ taskId });
  await expect(other.bridge.service(from('ann', 'tasks/get', { taskId }))).rejects.toMatchObject(NOT_FOUND);
  expect(() => bridged({ stateKey: 'short' })).toThrow('at least 16 bytes');
});

test("a client with a connection of its own learns no usable id of another client's task", async () => {
  const status = { taskId: 'theirs', status: 'completed' };
  const { service } = scripted({
    'tools/call': async (exchange) => {
      await exchange.notify('notifications/tasks/status', status);
      await exchange.notify('notifications/message', { level: 'info', data: 'x', _meta: related('theirs') });
      await exchange.notify('notifications/message', { level: 'info', data: 'end' });
      return { content: [], _meta: related('theirs') };
    },
  });
  const bridge = bridgeTo(service, 'legacy', {});
  const session = { id: 's', signal: new AbortController().signal };
  const options = { caller: { session, revision: '2025-11-25' } } as const;
  const listen = from('bob', 'subscriptions/listen', { notifications: {} }, options);
  const over = bridge.service(listen);
  await expect.poll(() => listen.notified.length).toBe(1);
  const call = from('bob', 'tools/call', { name: 'x' }, options);
  expect(await bridge.service(call)).toMatchObject({ _meta: related('theirs') });
  expect([...listen.notified.slice(1), ...call.notified]).toMatchObject([{ params: { data: 'end' } }]);
  listen.abort();
  await over.catch(() => {});
});

test('a task id of one server is refused for another, even if both bridges have the same key', async () => {
  const stateKey = 'a secret of many bytes';
  const reply = async (_: unknown, init?: RequestInit): Promise<Response> => {
    const { id, method, params } = JSON.parse(init?.body as string);
    const result = {
      resultType: method === 'tools/call' ? 'task' : 'complete',
      taskId: params.taskId ?? 't',
      supportedVersions: ['2026-07-28'],
      capabilities: {},
    };
    return Response.json({ jsonrpc: '2.0', id, result });
  };
  const targets = ['http://one.example/mcp', { url: 'http://two.example/mcp' }, 'http://one.example/mcp?tenant=2'];
  const [one, ...others] = targets.map((target) => {
    const bridge = createBridge({ target, stateKey, fetch: reply });
    onTestFinished(() => bridge.close());
    return bridge;
  });
  const { taskId } = await one!.service(from('ann', 'tools/call', { name: 'x' }));
  expect(await one!.service(from('ann', 'tasks/get', { taskId }))).toMatchObject({ taskId });
  for (const other of others)
    await expect(other.service(from('ann', 'tasks/get', { taskId }))).rejects.toMatchObject(NOT_FOUND);
});

test('a result without task ids is passed on unchanged', async () => {
  const result = { content: [{ type: 'text', text: 'x' }], _meta: { a: 1 } };
  const bridge = createBridge({ target: { service: async () => result } });
  onTestFinished(() => bridge.close());
  expect(await bridge.service(from('ann', 'tools/call', { name: 'x' }))).toMatchObject(result);
  await settled();
});
