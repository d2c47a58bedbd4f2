import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { aborted, deferred } from '../../test/support/service.ts';
import { describeWithEmptyRedis } from '../../test/support/with-empty-redis.ts';
import type { Caller } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { memoryTaskStore } from '../store/memory-tasks.ts';
import { redisState } from '../store/redis/redis-state.ts';
import { TaskStoreFull, type TaskStore } from '../store/task-store.ts';
import { McpServer } from './mcp-server.ts';

/** Tasks that change while their store can be read, but not written, as a full Redis or a full disk. */

const CALLER: Partial<Caller> = {
  revision: '2026-07-28',
  capabilities: { elicitation: {}, sampling: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
};
const FORM = {
  message: 'Sure?',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
} as const;
const YES = { action: 'accept', content: { ok: true } };
const MINUTE = 60_000;
/** The longest pause between two attempts. */
const PAUSE = 5000;

// Sockets need the other ones.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function setUp(memory = memoryTaskStore()) {
  const outage: { error: Error | undefined; writes: number } = { error: undefined, writes: 0 };
  const store: TaskStore = {
    create: (task) => memory.create(task),
    get: (...task) => memory.get(...task),
    update: async (...change) => {
      outage.writes += 1;
      if (outage.error) throw outage.error;
      return memory.update(...change);
    },
    delete: (...task) => memory.delete(...task),
    unfinished: (runner) => memory.unfinished(runner),
  };
  const errors: Error[] = [];
  const server = new McpServer({
    name: 'test',
    version: '1',
    tasks: { store },
    onerror: (error) => errors.push(error),
  });
  const request = (method: string, params: JsonObject, principal?: string): TestExchange =>
    new TestExchange(method, params, { caller: { ...CALLER, principal } });
  const send = (method: string, params: JsonObject, principal?: string): Promise<any> =>
    server.service(request(method, params, principal));
  return {
    ...{ memory, outage, server, errors, send },
    begin: (fails = new Error('OOM command not allowed')) => void (outage.error = fails),
    end: () => void (outage.error = undefined),
    call: async (name: string, principal?: string): Promise<string> =>
      (await send('tools/call', { name }, principal)).taskId,
    get: (taskId: string, principal?: string) => send('tasks/get', { taskId }, principal),
    /** The states that a listener is told. */
    listen: async (taskId: string): Promise<() => JsonObject[]> => {
      const listening = request('subscriptions/listen', { notifications: { taskIds: [taskId] } });
      void server.service(listening);
      await vi.advanceTimersByTimeAsync(0);
      return () => listening.notified.slice(1).map(({ params }) => params!);
    },
  };
}

/** An object that is nested deeper than `JSON.stringify` can follow. */
function deep(): JsonObject {
  let value: JsonObject = {};
  for (let depth = 0; depth < 100_000; depth += 1) value = { value };
  return value;
}

function throwing(message: string): never {
  throw new Error(message);
}

/** Adds a tool that returns when the test says so. */
function addHeld(server: McpServer, ttlMs: number | null = 60 * MINUTE) {
  const { promise, resolve } = deferred<string>();
  const signals: AbortSignal[] = [];
  server.tool('work', { task: { ttlMs } }, (_, { signal }) => {
    signals.push(signal);
    return promise;
  });
  return { resolve, signals };
}

test.each([
  ['Redis or the disk is full', new Error('OOM command not allowed')],
  ['it cannot be reached', new Error('connect ECONNREFUSED')],
])('a task that ends while %s keeps its result, and stores it soon afterwards', async (_, problem) => {
  const { server, errors, call, get, begin, end, listen } = setUp();
  const { resolve, signals } = addHeld(server);
  const taskId = await call('work');
  const told = await listen(taskId);
  begin(problem);
  resolve('done');
  await vi.advanceTimersByTimeAsync(10 * MINUTE);
  expect(await get(taskId)).toMatchObject({ status: 'working' });
  end();
  await vi.advanceTimersByTimeAsync(PAUSE);
  const outcome = { status: 'completed', result: { content: [{ text: 'done' }] } };
  expect(await get(taskId)).toMatchObject(outcome);
  expect(told()).toMatchObject([outcome]);
  expect(signals[0]!.aborted).toBe(false);
  expect(errors).toEqual([problem]);
});

test('a task that reports progress goes on, and its newest status message is stored later', async () => {
  const { server, call, get, begin, end } = setUp();
  const signals: AbortSignal[] = [];
  const go = deferred();
  server.tool('work', { task: true }, async (_args, ctx) => {
    signals.push(ctx.signal);
    for (let step = 1; step <= 60; step += 1) {
      await new Promise((resolve) => void setTimeout(resolve, 1000));
      void ctx.progress(step, 60);
    }
    await go.promise;
    return 'done';
  });
  const taskId = await call('work');
  begin();
  await vi.advanceTimersByTimeAsync(MINUTE);
  end();
  await vi.advanceTimersByTimeAsync(PAUSE);
  expect(signals[0]!.aborted).toBe(false);
  expect(await get(taskId)).toMatchObject({ status: 'working', statusMessage: '60 of 60' });
  go.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(await get(taskId)).toMatchObject({ status: 'completed' });
});

test('a question waits for the store, and can then be answered', async () => {
  const { server, call, get, send, begin, end } = setUp();
  const go = deferred();
  server.tool('ask', { task: true }, async (_, ctx) => {
    await go.promise;
    return (await ctx.elicit(FORM, { key: 'q' })).action;
  });
  const taskId = await call('ask');
  begin();
  go.resolve();
  await vi.advanceTimersByTimeAsync(MINUTE);
  end();
  await vi.advanceTimersByTimeAsync(PAUSE);
  expect(await get(taskId)).toMatchObject({ status: 'input_required', inputRequests: { q: {} } });
  begin();
  // The handler gets the answer at once.
  const answered = send('tasks/update', { taskId, inputResponses: { q: YES } });
  await vi.advanceTimersByTimeAsync(PAUSE);
  expect(await answered).toEqual({ resultType: 'complete' });
  end();
  await vi.advanceTimersByTimeAsync(PAUSE);
  vi.useRealTimers();
  await vi.waitFor(async () => expect(await get(taskId)).toMatchObject({ status: 'completed' }));
});

test('a cancellation fires the signal at once, but does not change the outcome of a task that has ended', async () => {
  const { server, call, get, send, begin, end } = setUp();
  const { resolve, signals } = addHeld(server);
  server.tool('other', { task: true }, () => new Promise(() => {}));
  const done = await call('work');
  const stuck = await call('other');
  begin();
  resolve('done');
  await vi.advanceTimersByTimeAsync(MINUTE);
  const cancelled = Promise.all([done, stuck].map((taskId) => send('tasks/cancel', { taskId })));
  await vi.advanceTimersByTimeAsync(PAUSE);
  await cancelled;
  end();
  await vi.advanceTimersByTimeAsync(PAUSE);
  expect(await get(done)).toMatchObject({ status: 'completed' });
  expect(await get(stuck)).toMatchObject({ status: 'cancelled' });
  expect(signals[0]!.aborted).toBe(false);
});

test('a store that has lost the task is written to no more, and listeners get the outcome', async () => {
  const { server, memory, outage, call, send, begin, end, listen } = setUp();
  const { resolve } = addHeld(server);
  const taskId = await call('work');
  const told = await listen(taskId);
  begin();
  resolve('done');
  await vi.advanceTimersByTimeAsync(MINUTE);
  await memory.delete(taskId, undefined);
  end();
  const { writes } = outage;
  await vi.advanceTimersByTimeAsync(10 * MINUTE);
  expect(outage.writes).toBe(writes + 1);
  expect(told()).toMatchObject([{ status: 'completed', result: { content: [{ text: 'done' }] } }]);
  await expect(send('tasks/get', { taskId })).rejects.toMatchObject({ code: -32602 });
  expect(vi.getTimerCount()).toBe(0);
});

test('a task is given up when it expires, and listeners get the outcome', async () => {
  const { server, outage, call, begin, listen } = setUp();
  const { resolve } = addHeld(server, MINUTE);
  const told = await listen(await call('work'));
  begin();
  resolve('done');
  await vi.advanceTimersByTimeAsync(MINUTE);
  const { writes } = outage;
  expect(writes).toBeLessThan(20);
  expect(told()).toMatchObject([{ status: 'completed', result: { content: [{ text: 'done' }] } }]);
  await vi.advanceTimersByTimeAsync(10 * MINUTE);
  expect(outage.writes).toBe(writes);
  expect(vi.getTimerCount()).toBe(0);
});

test('close() waits for the store as for running tasks, and then tries once more', async () => {
  for (const back of [false, true]) {
    const { server, memory, outage, call, begin, end } = setUp();
    const { resolve } = addHeld(server, null);
    server.tool('stuck', { task: { ttlMs: null } }, () => new Promise(() => {}));
    const ids = [await call('work'), await call('stuck')];
    begin();
    resolve('done');
    await vi.advanceTimersByTimeAsync(MINUTE);
    const closed = server.close(1000);
    await vi.advanceTimersByTimeAsync(999);
    if (back) end();
    await vi.advanceTimersByTimeAsync(1);
    await closed;
    const states = await Promise.all(ids.map(async (id) => (await memory.get(id, undefined))?.status));
    expect(states).toEqual(back ? ['completed', 'failed'] : ['working', 'working']);
    const { writes } = outage;
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(outage.writes).toBe(writes);
    expect(vi.getTimerCount()).toBe(0);
  }
});

test('close() stores a result when the store is back in time', async () => {
  const { server, call, get, begin, end } = setUp();
  server.tool('obeys', { task: true }, async (_, { signal }) => {
    await aborted(signal);
    return 'so far';
  });
  const taskId = await call('obeys');
  begin();
  const closed = server.close(10_000);
  await vi.advanceTimersByTimeAsync(5000);
  end();
  await vi.advanceTimersByTimeAsync(5000);
  await closed;
  expect(await get(taskId)).toMatchObject({ status: 'completed' });
});

test('the results that wait for the store are limited in bytes', async () => {
  const { server, call, get, begin, end } = setUp(memoryTaskStore({ maxTaskBytes: 64 * 1024 * 1024 }));
  const go = deferred();
  server.tool('large', { task: true }, async () => {
    await go.promise;
    return 'x'.repeat(40 * 1024 * 1024);
  });
  const ids = [await call('large', 'ann'), await call('large', 'ann')];
  begin();
  go.resolve();
  await vi.advanceTimersByTimeAsync(MINUTE);
  end();
  await vi.advanceTimersByTimeAsync(PAUSE);
  const states = await Promise.all(ids.map(async (id) => (await get(id, 'ann')).status));
  expect(new Set(states)).toEqual(new Set(['completed', 'failed']));
});

test.each([
  ['a result that is nested too deep', () => ({ content: [], _meta: deep() })],
  [
    'an error whose data cannot be written',
    () => {
      throw new RpcError(-1, 'no', { data: { toJSON: () => throwing('unwritable') } });
    },
  ],
])('%s fails the task at once', async (_, work) => {
  const { server, errors, call, get } = setUp();
  server.tool('work', { task: true }, work);
  const id = await call('work');
  await vi.advanceTimersByTimeAsync(0);
  const error = { code: -32603, message: 'The outcome of the task could not be stored' };
  expect(await get(id)).toMatchObject({ status: 'failed', error });
  expect(errors).toHaveLength(1);
});

test('a question that is nested too deep is refused, and the task goes on', async () => {
  const { server, call, get } = setUp();
  server.tool('work', { task: true }, async (_, context) => {
    const messages = [{ role: 'user', content: { type: 'text', text: '', _meta: deep() } }] as const;
    return context.sample({ messages: [...messages], maxTokens: 1 }).then(
      () => 'answered',
      ({ message }: Error) => message,
    );
  });
  const id = await call('work');
  await vi.advanceTimersByTimeAsync(0);
  const text = 'sampling/createMessage was not sent: it could not be stored';
  expect(await get(id)).toMatchObject({ status: 'completed', result: { content: [{ text }] } });
});

test('a store without room refuses a question, but ends no task', async () => {
  const { server, call, get, begin, end } = setUp();
  const go = deferred();
  const refused: unknown[] = [];
  const release = deferred<string>();
  server.tool('ask', { task: true }, async (_, ctx) => {
    const first = ctx.elicit(FORM, { key: 'first' });
    await go.promise;
    await ctx.elicit(FORM, { key: 'second' }).catch((error: unknown) => refused.push(error));
    void ctx.progress(1, 2);
    return Promise.race([release.promise, first.then(String)]);
  });
  const taskId = await call('ask');
  await vi.advanceTimersByTimeAsync(0);
  begin(new TaskStoreFull('full'));
  go.resolve();
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(refused).toMatchObject([{ code: -32603, message: 'elicitation/create was not sent: it could not be stored' }]);
  end();
  await vi.advanceTimersByTimeAsync(PAUSE);
  const task = await get(taskId);
  expect([task.status, task.statusMessage, Object.keys(task.inputRequests)]).toEqual([
    'input_required',
    '1 of 2',
    ['first'],
  ]);
  release.resolve('done');
  await vi.advanceTimersByTimeAsync(0);
  expect(await get(taskId)).toMatchObject({ status: 'completed' });
});

describeWithEmptyRedis('in Redis', (redis) => {
  test('a task that ends while it is full has its result at all servers afterwards', async () => {
    const [one, two] = [0, 1].map(() => setUp(redisState(redis.admin).tasks)) as [
      ReturnType<typeof setUp>,
      ReturnType<typeof setUp>,
    ];
    two.server.tool('work', { task: true }, () => 'unused');
    const { resolve } = addHeld(one.server);
    const taskId = await one.call('work');
    await redis.admin.configSet('maxmemory', '1');
    onTestFinished(async () => void (await redis.admin.configSet('maxmemory', '0')));
    resolve('done');
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) {
        await vi.advanceTimersByTimeAsync(1000);
        // What was sent before it is answered.
        await redis.admin.ping();
        await redis.admin.ping();
      }
    };
    await pass(60);
    expect(one.errors).toMatchObject([{ message: expect.stringContaining('OOM') }]);
    await redis.admin.configSet('maxmemory', '0');
    await pass(6);
    expect(await two.get(taskId)).toMatchObject({ status: 'completed', result: { content: [{ text: 'done' }] } });
  });
});
