import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange, type TestExchangeOptions } from '../../test/support/exchange.ts';
import { aborted, deferred } from '../../test/support/service.ts';
import type { Caller } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { memoryTaskStore } from '../store/memory-tasks.ts';
import type { TaskStore } from '../store/task-store.ts';
import { inputRequired } from './input-required.ts';
import { McpServer, type McpServerOptions } from './mcp-server.ts';
import { UserError } from './user-error.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const ABLE: JsonObject = { elicitation: {}, sampling: {}, roots: {}, extensions: { [TASKS]: {} } };
const CALLER: Partial<Caller> = { revision: '2026-07-28', capabilities: ABLE };
const FORM = {
  message: 'Sure?',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
} as const;
const YES = { action: 'accept', content: { ok: true } };

/** A store as an object of functions, some of which a test replaces. */
const through = (store: TaskStore): TaskStore => ({
  create: (task) => store.create(task),
  get: (id, principal) => store.get(id, principal),
  update: (id, principal, change) => store.update(id, principal, change),
  delete: (id, principal) => store.delete(id, principal),
  unfinished: (runner) => store.unfinished(runner),
});

/** Runs everything that waits only for its turn in the event loop. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
};

function setUp(options: Partial<McpServerOptions> = {}) {
  const errors: Error[] = [];
  const server = new McpServer({ name: 'test', version: '1', onerror: (error) => errors.push(error), ...options });
  const request = (
    method: string,
    params: JsonObject = {},
    caller: Partial<Caller> = {},
    more: TestExchangeOptions = {},
  ) => new TestExchange(method, params, { ...more, caller: { ...CALLER, ...caller } });
  const send = (method: string, params?: JsonObject, caller?: Partial<Caller>): Promise<any> =>
    server.service(request(method, params, caller));
  return {
    server,
    errors,
    request,
    send,
    call: (name: string, caller?: Partial<Caller>) => send('tools/call', { name }, caller),
    get: async (taskId: string, caller?: Partial<Caller>) => {
      await settled();
      return send('tasks/get', { taskId }, caller);
    },
    /** Waits for work that takes more than microtasks: the library that checks answers is loaded on first use. */
    until: (taskId: string, expected: JsonObject) =>
      vi.waitFor(async () => {
        const task = await send('tasks/get', { taskId });
        expect(task).toMatchObject(expected);
        return task;
      }),
    update: (taskId: string, inputResponses: unknown, caller?: Partial<Caller>) =>
      send('tasks/update', { taskId, inputResponses }, caller),
    cancel: (taskId: string, caller?: Partial<Caller>) => send('tasks/cancel', { taskId }, caller),
  };
}

/** A tool that runs until the test ends it, and what it saw. */
function held() {
  const release = deferred<any>();
  const signals: AbortSignal[] = [];
  const handler = (_: unknown, { signal }: { signal: AbortSignal }): Promise<any> => {
    signals.push(signal);
    return release.promise;
  };
  return { ...release, handler, signals };
}

describe('a tools/call', () => {
  test('of a caller with the extension becomes a task at once, and the task gets its result', async () => {
    const { server, call, get } = setUp();
    const { handler, resolve } = held();
    server.tool('slow', { task: { ttlMs: 5000, pollIntervalMs: 10 } }, handler);
    const begun = await call('slow');
    expect(begun).toEqual({
      resultType: 'task',
      taskId: expect.stringMatching(/^[\w-]{22,}$/),
      status: 'working',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      lastUpdatedAt: begun.createdAt,
      ttlMs: 5000,
      pollIntervalMs: 10,
    });
    expect(await get(begun.taskId)).toEqual({ ...begun, resultType: 'complete' });
    resolve('done');
    const result = { resultType: 'complete', content: [{ type: 'text', text: 'done' }] };
    expect(await get(begun.taskId)).toMatchObject({ status: 'completed', result });
  });

  test('asks for short intervals while the task is young, and never for more than the tool does', async () => {
    const { server, call, get } = setUp();
    server.tool('slow', { task: { pollIntervalMs: 2000 } }, held().handler);
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { taskId, pollIntervalMs } = await call('slow');
    const intervals = [pollIntervalMs];
    for (let polls = 0; polls < 10; polls += 1) {
      vi.setSystemTime(Date.now() + intervals.at(-1)!);
      intervals.push((await get(taskId)).pollIntervalMs);
    }
    expect(intervals).toEqual([25, 25, 50, 100, 200, 400, 800, 1600, 2000, 2000, 2000]);
    vi.setSystemTime(Date.now() - 3_600_000);
    expect(await get(taskId)).toMatchObject({ pollIntervalMs: 2000 });
  });

  test.each([
    ['does not declare the extension', { capabilities: {} }],
    ['speaks an earlier revision', { revision: '2025-11-25' } as const],
  ])('of a caller that %s is an ordinary call', async (_, caller) => {
    const { server, call } = setUp();
    server.tool('slow', { task: true }, async (_args, ctx) => ((await ctx.startTask()) ? 'task' : 'no task'));
    expect(await call('slow', caller)).toEqual({ content: [{ type: 'text', text: 'no task' }] });
  });

  test('of a tool that requires a task is refused before the handler runs', async () => {
    const { server, call } = setUp();
    const handler = vi.fn<() => string>(() => 'ran');
    server.tool('slow', { task: { required: true } }, handler);
    await expect(call('slow', { capabilities: {} })).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    });
    expect(handler).not.toHaveBeenCalled();
    expect(await call('slow')).toMatchObject({ resultType: 'task' });
  });

  test('with invalid arguments is answered at once', async () => {
    const { server, call } = setUp();
    server.tool('slow', { task: true, input: { type: 'object', required: ['x'] } }, () => 1);
    expect(await call('slow')).toMatchObject({ isError: true });
  });

  test('whose caller left before it started does not run', async () => {
    const { server, request } = setUp();
    const handler = vi.fn<() => string>(() => 'ran');
    server.tool('slow', { task: true }, handler);
    const exchange = request('tools/call', { name: 'slow' });
    exchange.abort();
    await expect(server.service(exchange)).rejects.toThrow('internal error');
    expect(handler).not.toHaveBeenCalled();
  });

  test('continues as a task when its caller leaves', async () => {
    const { server, request, get } = setUp();
    const { handler, resolve, signals } = held();
    server.tool('slow', { task: true }, handler);
    const exchange = request('tools/call', { name: 'slow' });
    const { taskId } = await server.service(exchange);
    exchange.abort();
    expect(signals[0]?.aborted).toBe(false);
    resolve('done');
    expect(await get(taskId)).toMatchObject({ status: 'completed' });
  });

  test.each<[string, () => never, JsonObject]>([
    [
      'whose handler returns a tool error completes',
      () => {
        throw new UserError('no disk');
      },
      { status: 'completed', result: { isError: true, content: [{ type: 'text', text: 'no disk' }] } },
    ],
    [
      'whose handler throws an internal error completes without the message',
      () => {
        throw new Error('no disk at 10.0.0.7');
      },
      {
        status: 'completed',
        result: { isError: true, content: [{ type: 'text', text: 'Tool breaks failed with an internal error' }] },
      },
    ],
    [
      'whose handler throws a protocol error fails',
      () => {
        throw new RpcError(ErrorCode.InvalidParams, 'not so', { data: { why: 1 } });
      },
      { status: 'failed', statusMessage: 'not so', error: { code: -32602, message: 'not so', data: { why: 1 } } },
    ],
  ])('as a task %s', async (_, handler, expected) => {
    const { server, call, get } = setUp();
    server.tool('breaks', { task: true }, handler);
    const { taskId } = await call('breaks');
    expect(await get(taskId)).toMatchObject(expected);
  });

  test('gets an unpredictable task id', async () => {
    const { server, call } = setUp();
    server.tool('slow', { task: true }, () => 1);
    const ids = await Promise.all(Array.from({ length: 50 }, async () => (await call('slow')).taskId));
    expect(new Set(ids).size).toBe(50);
    // 128 bits in base64url are 22 characters.
    for (const id of ids) expect(id.length).toBeGreaterThanOrEqual(22);
  });

  test('of one address without a principal leaves room for others, and IPv6 addresses of one network are one', async () => {
    const { server, call } = setUp({ tasks: { store: memoryTaskStore({ maxTasks: 8 }) } });
    server.tool('slow', { task: { required: true } }, held().handler);
    const begin = (address: string) => call('slow', { address });
    for (let n = 0; n < 7; n += 1) expect(await begin(`2001:db8::${n}`)).toMatchObject({ resultType: 'task' });
    await expect(begin('2001:db8::ffff')).rejects.toMatchObject({ code: -32603 });
    expect(await begin('192.0.2.1')).toMatchObject({ resultType: 'task' });
  });
});

describe('a task that the handler starts', () => {
  test('makes its call an ordinary request until then, with ordinary questions', async () => {
    const { server, request, get } = setUp();
    const { promise, resolve } = deferred();
    server.tool('slow', { task: { start: 'by-handler' } }, async (_, ctx) => {
      const { content } = await ctx.elicit(FORM);
      expect(await ctx.startTask({ statusMessage: 'begun' })).toBe(true);
      await promise;
      return String(content?.['ok']);
    });
    const exchange = request('tools/call', { name: 'slow' }, {}, { onask: () => YES });
    const { taskId, ...begun } = await server.service(exchange);
    expect(begun).toMatchObject({ resultType: 'task', status: 'working', statusMessage: 'begun' });
    expect(exchange.asked).toHaveLength(1);
    resolve();
    expect(await get(taskId)).toMatchObject({ status: 'completed', result: { content: [{ text: 'true' }] } });
  });

  test('is optional: without it, the handler answers the request', async () => {
    const { server, call } = setUp();
    server.tool('fast', { task: { start: 'by-handler', required: true } }, () => 'at once');
    expect(await call('fast')).toEqual({ content: [{ type: 'text', text: 'at once' }] });
  });

  test('changes the signal from that of the request to that of the task', async () => {
    const { server, request, cancel } = setUp();
    const before: AbortSignal[] = [];
    const go = deferred();
    server.tool('slow', { task: { start: 'by-handler' } }, async (_, ctx) => {
      before.push(ctx.signal);
      await go.promise;
      await ctx.startTask();
      return new Promise(() => {});
    });
    const left = request('tools/call', { name: 'slow' });
    void server.service(left);
    await settled();
    left.abort();
    expect(before[0]?.aborted).toBe(true);

    const stays = request('tools/call', { name: 'slow' });
    const answered = server.service(stays);
    go.resolve();
    const { taskId } = await answered;
    stays.abort();
    expect(before[1]?.aborted).toBe(false);
    await cancel(taskId);
    expect(before[1]?.aborted).toBe(true);
  });

  test('is one task, however often the handler starts it', async () => {
    const { server, call, get } = setUp();
    server.tool('slow', { task: { start: 'by-handler' } }, async (_, ctx) => {
      await Promise.all([ctx.startTask(), ctx.startTask()]);
      await ctx.startTask({ statusMessage: 'still at it' });
      return new Promise(() => {});
    });
    const { taskId } = await call('slow');
    expect(await get(taskId)).toMatchObject({ status: 'working', statusMessage: 'still at it' });
  });

  test("is not another principal's, even if the store says so", async () => {
    const store = memoryTaskStore();
    const get: TaskStore['get'] = (id) => store.get(id, 'ann');
    const { server, send, call } = setUp({ tasks: { store: { ...through(store), get } } });
    const { handler } = held();
    server.tool('slow', { task: true }, handler);
    const { taskId } = await call('slow', { principal: 'ann' });
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      await expect(send(method, { taskId, inputResponses: {} }, { principal: 'bob' })).rejects.toThrow(
        'Task not found',
      );
    expect(await send('tasks/get', { taskId }, { principal: 'ann' })).toMatchObject({ status: 'working' });
  });

  test('is not started for a caller that has left, or by a handler that has finished', async () => {
    const store = memoryTaskStore();
    const create = vi.fn<TaskStore['create']>((record) => store.create(record));
    const { server, request, call } = setUp({ tasks: { store: { ...through(store), create } } });
    const go = deferred();
    const refused: unknown[] = [];
    server.tool('slow', { task: { start: 'by-handler' } }, async (_, ctx) => {
      await go.promise;
      await ctx.startTask().catch((error: unknown) => refused.push(error));
    });
    server.tool('hasty', { task: { start: 'by-handler' } }, (_, ctx) => {
      void ctx.startTask();
      return 'done already';
    });
    const exchange = request('tools/call', { name: 'slow' });
    const answered = server.service(exchange);
    exchange.abort();
    go.resolve();
    await answered;
    expect(refused).toHaveLength(1);
    expect(create).not.toHaveBeenCalled();

    expect(await call('hasty')).toEqual({ content: [{ type: 'text', text: 'done already' }] });
  });

  test('is refused for a tool without task support', async () => {
    const { server, call } = setUp();
    server.tool('plain', {}, async (_, ctx) => ctx.startTask());
    expect(await call('plain')).toMatchObject({ isError: true });
  });
});

describe('questions of a task', () => {
  test('wait for the caller, and the task continues after all answers', async () => {
    const { server, call, get, update, until } = setUp();
    server.tool('asks', { task: true }, async (_, ctx) => {
      const answers = await Promise.all([ctx.elicit(FORM, { key: 'first' }), ctx.elicit(FORM)]);
      return answers.map(({ action }) => action).join();
    });
    const { taskId } = await call('asks');
    const waiting = await get(taskId);
    expect(waiting).toMatchObject({ status: 'input_required' });
    const [first, second, ...others] = Object.keys(waiting.inputRequests);
    expect([first, others]).toEqual(['first', []]);
    expect(waiting.inputRequests.first).toMatchObject({ method: 'elicitation/create', params: { message: 'Sure?' } });

    expect(await update(taskId, { first: YES, unheard: YES })).toEqual({ resultType: 'complete' });
    const half = await get(taskId);
    expect([half.status, Object.keys(half.inputRequests)]).toEqual(['input_required', [second]]);
    // Answers to questions that were already answered are ignored.
    expect(await update(taskId, { first: { action: 'cancel' } })).toEqual({ resultType: 'complete' });
    await update(taskId, { [second!]: { action: 'decline' } });
    const done = await until(taskId, { status: 'completed', result: { content: [{ text: 'accept,decline' }] } });
    expect(done).not.toHaveProperty('inputRequests');
    expect(await update(taskId, { first: YES })).toEqual({ resultType: 'complete' });
  });

  test('have unique keys', async () => {
    const { server, call, get, update, until } = setUp();
    server.tool('asks', { task: true }, async (_, ctx) => {
      for (let n = 0; n < 2; n += 1) await ctx.elicit(FORM, { key: 'same' });
    });
    const { taskId } = await call('asks');
    expect(Object.keys((await get(taskId)).inputRequests)).toEqual(['same']);
    await update(taskId, { same: YES });
    const { inputRequests } = await until(taskId, { status: 'input_required' });
    expect(Object.keys(inputRequests)).toEqual(['same-2']);
  });

  test.each([
    [undefined],
    [[]],
    [{ q: 'yes' }],
    [{ q: { action: 'perhaps' } }],
    [{ q: { action: 'accept', content: 1 } }],
  ])('are not answered by %j', async (responses) => {
    const { server, call, get, update } = setUp();
    server.tool('asks', { task: true }, (_, ctx) => ctx.elicit(FORM, { key: 'q' }));
    const { taskId } = await call('asks');
    await settled();
    await expect(update(taskId, responses)).rejects.toMatchObject({ code: -32602 });
    expect(await get(taskId)).toMatchObject({ status: 'input_required', inputRequests: { q: {} } });
  });

  test('are refused if the caller does not support them', async () => {
    const { server, call, get } = setUp();
    server.tool('asks', { task: true }, (_, ctx) => ctx.elicit(FORM));
    const { taskId } = await call('asks', { capabilities: { extensions: { [TASKS]: {} } } });
    expect(await get(taskId)).toMatchObject({ status: 'failed', error: { code: -32021 } });
  });

  test('disappear if they are cancelled', async () => {
    const { server, call, get } = setUp();
    const back = new AbortController();
    server.tool('asks', { task: true }, async (_, ctx) => {
      await ctx.elicit(FORM, { signal: back.signal }).catch(() => {});
      return new Promise(() => {});
    });
    const { taskId } = await call('asks');
    expect(await get(taskId)).toMatchObject({ status: 'input_required' });
    back.abort();
    const after = await get(taskId);
    expect([after.status, after.inputRequests]).toEqual(['working', undefined]);
  });

  test('can be the result of the handler', async () => {
    const { server, call, get, update } = setUp();
    server.tool('asks', { task: true }, (_, ctx) => {
      if (ctx.requestState === 'asked') return `it is ${ctx.inputResponses['q']?.['action']}`;
      const inputRequests = { q: { method: 'elicitation/create', params: FORM } } as const;
      return inputRequired({ inputRequests, requestState: 'asked' });
    });
    const { taskId } = await call('asks');
    expect(await get(taskId)).toMatchObject({ status: 'input_required', inputRequests: { q: {} } });
    await update(taskId, { q: YES });
    expect(await get(taskId)).toMatchObject({ status: 'completed', result: { content: [{ text: 'it is accept' }] } });
  });
});

describe('task methods', () => {
  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s fails for a caller without the extension, whether the task exists or not',
    async (method) => {
      const { server, send, call } = setUp();
      server.tool('slow', { task: true }, () => 1);
      const { taskId } = await call('slow');
      for (const id of [taskId, 'none', 1]) {
        const sent = send(method, { taskId: id, inputResponses: {} }, { capabilities: {} });
        await expect(sent).rejects.toMatchObject({
          code: -32021,
          data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
        });
      }
    },
  );

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s gives the same error for a task of another principal as for one that does not exist',
    async (method) => {
      const { server, send, call } = setUp();
      const { handler, signals } = held();
      server.tool('slow', { task: true }, handler);
      const { taskId } = await call('slow', { principal: 'ann' });
      const refusal = async (id: unknown, principal?: string) => {
        const sent = send(method, { taskId: id, inputResponses: {} }, { principal });
        const error: unknown = await sent.catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: -32602 });
        return (error as Error).message;
      };
      const words = await refusal('none', 'bob');
      expect(await refusal(taskId, 'bob')).toBe(words);
      expect(await refusal(taskId)).toBe(words);
      expect(await refusal('x'.repeat(100_000), 'ann')).toBe(words);
      await refusal(1, 'ann');
      expect(signals[0]?.aborted).toBe(false);
      expect(await send('tasks/get', { taskId }, { principal: 'ann' })).toMatchObject({ status: 'working' });
    },
  );

  test.each(['tasks/list', 'tasks/result', 'tasks/other'])('%s does not exist', async (method) => {
    const { server, send } = setUp();
    server.tool('slow', { task: true }, () => 1);
    await expect(send(method, { taskId: 'none' })).rejects.toMatchObject({ code: -32601 });
  });

  test('are not offered by a server without such tools, or to a caller of an earlier revision', async () => {
    const { server, send } = setUp({ capabilities: { extensions: { other: {} } } });
    server.tool('plain', {}, () => 1);
    await expect(send('tasks/get', { taskId: 'none' })).rejects.toMatchObject({ code: -32601 });
    expect((await send('server/discover')).capabilities.extensions).toEqual({ other: {} });
    server.tool('slow', { task: true }, () => 1);
    expect((await send('server/discover')).capabilities.extensions).toEqual({ other: {}, [TASKS]: {} });
    const early = { revision: '2025-11-25' } as const;
    await expect(send('tasks/get', { taskId: 'none' }, early)).rejects.toMatchObject({ code: -32601 });
    expect((await send('server/discover', {}, early)).capabilities.extensions).toEqual({ other: {} });
  });

  test('cancelling is acknowledged, fires the signal, and ends the task', async () => {
    const { server, call, get, cancel } = setUp();
    const { handler, signals, resolve } = held();
    server.tool('slow', { task: true }, handler);
    const { taskId } = await call('slow');
    expect(await cancel(taskId)).toEqual({ resultType: 'complete' });
    expect(signals[0]?.aborted).toBe(true);
    expect(await get(taskId)).toMatchObject({ status: 'cancelled' });
    resolve('too late');
    const { result, status } = await get(taskId);
    expect([result, status]).toEqual([undefined, 'cancelled']);
    expect(await cancel(taskId)).toEqual({ resultType: 'complete' });
  });

  test('cancelling a finished task changes nothing', async () => {
    const { server, call, get, cancel } = setUp();
    server.tool('fast', { task: true }, () => 'done');
    const { taskId } = await call('fast');
    const before = await get(taskId);
    expect(await cancel(taskId)).toEqual({ resultType: 'complete' });
    expect(await get(taskId)).toEqual(before);
  });

  test('a question of a cancelled task is refused without being asked', async () => {
    const { server, call, get, cancel } = setUp();
    const go = deferred();
    const refused: unknown[] = [];
    server.tool('asks', { task: true }, async (_, ctx) => {
      await ctx.elicit(FORM).catch((error: unknown) => refused.push(error));
      await go.promise;
      await ctx.elicit(FORM).catch((error: unknown) => refused.push(error));
    });
    const { taskId } = await call('asks');
    await get(taskId);
    await cancel(taskId);
    go.resolve();
    const { status, inputRequests } = await get(taskId);
    expect([status, inputRequests, refused.length]).toEqual(['cancelled', undefined, 2]);
  });
});

describe('over time', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('progress becomes the status message, at most once a second, and log messages are not sent', async () => {
    const { server, request, get } = setUp();
    const go = deferred();
    server.tool('slow', { task: true }, async (_, ctx) => {
      for (let n = 1; n <= 100; n += 1) void ctx.progress(n, 100, n === 50 ? undefined : `step ${n}`);
      void ctx.log('error', 'unheard');
      await go.promise;
      await ctx.progress(101, 200);
      return new Promise(() => {});
    });
    const exchange = request('tools/call', { name: 'slow' });
    const { taskId, createdAt } = await server.service(exchange);
    expect(await get(taskId)).toMatchObject({ lastUpdatedAt: createdAt });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await get(taskId)).toMatchObject({ status: 'working', statusMessage: 'step 100' });
    go.resolve();
    await vi.advanceTimersByTimeAsync(500);
    expect(await get(taskId)).toMatchObject({ statusMessage: 'step 100' });
    await vi.advanceTimersByTimeAsync(500);
    expect(await get(taskId)).toMatchObject({ statusMessage: '101 of 200' });
    expect(exchange.notified).toEqual([]);
  });

  test('a handler that never returns is aborted when its task expires, and the task is removed', async () => {
    const { server, call, get, send, request } = setUp();
    const { handler, signals } = held();
    server.tool('stuck', { task: { ttlMs: 60_000 } }, handler);
    const { taskId } = await call('stuck');
    const listening = request('subscriptions/listen', { notifications: { taskIds: [taskId] } });
    void server.service(listening);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(await get(taskId)).toMatchObject({ status: 'working' });
    expect(signals[0]?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signals[0]?.aborted).toBe(true);
    await expect(send('tasks/get', { taskId })).rejects.toMatchObject({ code: -32602 });
    expect(listening.notified.at(-1)?.params).toMatchObject({ taskId, status: 'failed', error: { code: -32603 } });
  });

  test('a finished task stays until it expires', async () => {
    const { server, call, get } = setUp();
    server.tool('fast', { task: { ttlMs: 60_000 } }, () => 'done');
    const { taskId } = await call('fast');
    await vi.advanceTimersByTimeAsync(59_999);
    expect(await get(taskId)).toMatchObject({ status: 'completed' });
    await vi.advanceTimersByTimeAsync(1);
    await expect(get(taskId)).rejects.toMatchObject({ code: -32602 });
  });

  test('a task that never expires continues', async () => {
    const { server, call, get } = setUp();
    const { handler, resolve } = held();
    server.tool('slow', { task: { ttlMs: null } }, handler);
    const { taskId, ttlMs } = await call('slow');
    expect(ttlMs).toBeNull();
    await vi.advanceTimersByTimeAsync(30 * 24 * 3_600_000);
    resolve('at last');
    expect(await get(taskId)).toMatchObject({ status: 'completed' });
  });
});

describe('too many tasks', () => {
  test('are refused if the tool requires a task, and running tasks continue', async () => {
    const { server, call, get, errors } = setUp({ tasks: { store: memoryTaskStore({ maxTasks: 2 }) } });
    const { handler, resolve } = held();
    server.tool('slow', { task: { required: true } }, handler);
    const running = await Promise.all([call('slow'), call('slow')]);
    await expect(call('slow')).rejects.toMatchObject({ code: -32603, message: expect.stringContaining('later') });
    resolve('done');
    for (const { taskId } of running) expect(await get(taskId)).toMatchObject({ status: 'completed' });
    expect(errors).toEqual([]);
  });

  test('of one caller leave room for others: further calls become ordinary ones if possible', async () => {
    const { server, call } = setUp({ tasks: { store: memoryTaskStore({ maxPerPrincipal: 1 }) } });
    server.tool('fast', { task: true }, () => 'done');
    expect(await call('fast', { principal: 'ann' })).toMatchObject({ resultType: 'task' });
    expect(await call('fast', { principal: 'ann' })).toEqual({ content: [{ type: 'text', text: 'done' }] });
    expect(await call('fast', { principal: 'bob' })).toMatchObject({ resultType: 'task' });
  });

  test('are also limited in the bytes of their arguments while they run', async () => {
    const { server, send, cancel } = setUp();
    const { promise } = deferred<string>();
    server.tool('keep', { input: { type: 'object' }, task: true }, async (_, ctx) =>
      (await ctx.startTask()) ? promise : 'no task',
    );
    const params = { name: 'keep', arguments: { text: 'x'.repeat(40 * 1024 * 1024) } };
    const first = await send('tools/call', params, { principal: 'ann' });
    expect(first).toMatchObject({ resultType: 'task' });
    expect(await send('tools/call', params, { principal: 'ann' })).toMatchObject({ content: [{ text: 'no task' }] });
    expect(await send('tools/call', params, { principal: 'bob' })).toMatchObject({ resultType: 'task' });
    await cancel(first.taskId, { principal: 'ann' });
    expect(await send('tools/call', params, { principal: 'ann' })).toMatchObject({ resultType: 'task' });
  });

  test('are also limited in the bytes of their answers: a large answer is refused while the task waits', async () => {
    const { server, call, get, update } = setUp();
    server.tool('ask', { task: true }, async (_, ctx) => {
      for (;;) await ctx.elicit(FORM);
    });
    const { taskId } = await call('ask', { principal: 'ann' });
    const large = { action: 'accept', content: { ok: true, junk: 'x'.repeat(40 * 1024 * 1024) } };
    const question = async (): Promise<string> =>
      Object.keys((await get(taskId, { principal: 'ann' })).inputRequests)[0]!;
    const first = await question();
    await update(taskId, { [first]: large }, { principal: 'ann' });
    const second = await vi.waitFor(async () => {
      const asked = await question();
      expect(asked).not.toBe(first);
      return asked;
    });
    await expect(update(taskId, { [second]: large }, { principal: 'ann' })).rejects.toMatchObject({ code: -32603 });
    expect(await question()).toBe(second);
  });

  test('a call that did not become a task does not expire, and leaves no timer', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { server, call } = setUp({ tasks: { store: memoryTaskStore({ maxTasks: 0 }) } });
    const { handler, resolve, signals } = held();
    server.tool('slow', { task: { ttlMs: 1000 } }, handler);
    const answered = call('slow');
    await settled();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(1000);
    expect(signals[0]!.aborted).toBe(false);
    resolve('done');
    expect(await answered).toEqual({ content: [{ type: 'text', text: 'done' }] });
  });

  test('a result that is too large to store makes the task fail', async () => {
    const { server, call, get, errors } = setUp({ tasks: { store: memoryTaskStore({ maxTaskBytes: 1000 }) } });
    server.tool('large', { task: true }, () => 'x'.repeat(5000));
    const { taskId } = await call('large');
    expect(await get(taskId)).toMatchObject({ status: 'failed', error: { code: -32603 } });
    expect(errors.map(({ name }) => name)).toEqual(['TaskStoreFull']);
  });

  test('a result that JSON cannot represent makes the task fail', async () => {
    const { server, call, get, errors } = setUp();
    server.tool('odd', { task: true }, () => ({ content: [], structuredContent: { big: 1n } }));
    const { taskId } = await call('odd');
    expect(await get(taskId)).toMatchObject({ status: 'failed', error: { code: -32603 } });
    expect(errors).toHaveLength(1);
  });
});

describe('a task store', () => {
  test('that is unreachable causes an error that reveals nothing', async () => {
    const broken = () => Promise.reject(new Error('connect ECONNREFUSED db.internal'));
    const { server, call, send, errors } = setUp({
      tasks: { store: { ...through(memoryTaskStore()), create: broken, get: broken } },
    });
    server.tool('slow', { task: { required: true } }, () => 1);
    for (const sent of [call('slow'), send('tasks/get', { taskId: 'x' })]) {
      await expect(sent).rejects.toMatchObject({ code: -32603, message: expect.not.stringContaining('db.internal') });
    }
    expect(errors.map(({ message }) => message)).toEqual(Array(2).fill('connect ECONNREFUSED db.internal'));
  });

  test('that fails for a while gets the write again', async () => {
    vi.useFakeTimers();
    try {
      const store = memoryTaskStore();
      let failures = 2;
      const update: TaskStore['update'] = (...change) =>
        failures-- > 0 ? Promise.reject(new Error('busy')) : store.update(...change);
      const { server, call, get, errors } = setUp({ tasks: { store: { ...through(store), update } } });
      server.tool('fast', { task: true }, () => 'done');
      const { taskId } = await call('fast');
      await vi.advanceTimersByTimeAsync(3000);
      expect(await get(taskId)).toMatchObject({ status: 'completed' });
      expect(errors).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test('that is slow, and repeats conflicting changes, loses nothing', async () => {
    const store = memoryTaskStore();
    const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));
    const slow: TaskStore = {
      create: (task) => turn().then(() => store.create(task)),
      get: (id, principal) => turn().then(() => store.get(id, principal)),
      update: async (id, principal, change) => {
        await turn();
        const before = await store.get(id, principal);
        if (before?.status === 'working' || before?.status === 'input_required') change(before);
        await turn();
        return store.update(id, principal, change);
      },
      delete: (id, principal) => turn().then(() => store.delete(id, principal)),
      unfinished: (runner) => store.unfinished(runner),
    };
    const { server, request, call, send, until, update, cancel } = setUp({ tasks: { store: slow, runner: 'one' } });
    server.tool('asks', { task: true }, async (_, ctx) => {
      const answers = [];
      for (const key of ['a', 'b', 'c']) answers.push((await ctx.elicit(FORM, { key })).action);
      return answers.join();
    });
    const [{ taskId }, other] = await Promise.all([call('asks'), call('asks')]);
    expect(await send('tasks/get', { taskId })).toMatchObject({ taskId });
    const listening = request('subscriptions/listen', { notifications: { taskIds: [taskId, other.taskId] } });
    void server.service(listening);
    for (const key of ['a', 'b', 'c']) {
      await until(taskId, { status: 'input_required', inputRequests: { [key]: {} } });
      await update(taskId, { [key]: YES });
      expect((await send('tasks/get', { taskId })).inputRequests?.[key]).toBeUndefined();
    }
    await until(taskId, { status: 'completed', result: { content: [{ text: 'accept,accept,accept' }] } });
    await cancel(other.taskId);
    expect(await send('tasks/get', { taskId: other.taskId })).toMatchObject({ status: 'cancelled' });
    await vi.waitFor(() => {
      const last = new Map(listening.notified.slice(1).map(({ params }) => [params?.['taskId'], params?.['status']]));
      expect(last).toEqual(
        new Map([
          [taskId, 'completed'],
          [other.taskId, 'cancelled'],
        ]),
      );
    });
    expect(listening.notified[0]?.params).toEqual({ notifications: { taskIds: [taskId, other.taskId] } });
  });

  test('shared with another process: if that process cancels a task, the handler stops when it next changes the task', async () => {
    const store = memoryTaskStore();
    const one = setUp({ tasks: { store } });
    const two = setUp({ tasks: { store } });
    const { handler, signals } = held();
    one.server.tool('slow', { task: { start: 'by-handler' } }, async (args, ctx) => {
      await ctx.startTask();
      await ctx.elicit(FORM, { key: 'q' }).catch(() => {});
      void handler(args, ctx);
      await ctx.elicit(FORM);
    });
    two.server.tool('slow', { task: true }, () => 1);
    const { taskId } = await one.call('slow');
    expect(await two.get(taskId)).toMatchObject({ status: 'input_required' });
    await expect(two.update(taskId, { q: YES })).rejects.toMatchObject({ code: -32603 });
    await two.cancel(taskId);
    await one.update(taskId, { q: YES });
    await vi.waitFor(() => expect(signals[0]?.aborted).toBe(true));
    expect(await one.get(taskId)).toMatchObject({ status: 'cancelled' });
  });

  test('a restarted server ends its former tasks, and other servers do not', async () => {
    const store = memoryTaskStore();
    const start = (runner?: string) => {
      const made = setUp({ tasks: runner === undefined ? { store } : { store, runner } });
      made.server.tool('slow', { task: true }, () => new Promise(() => {}));
      return made;
    };
    const { taskId } = await start('one').call('slow');
    expect(await start('two').get(taskId)).toMatchObject({ status: 'working' });
    expect(await start().get(taskId)).toMatchObject({ status: 'working' });
    const again = start('one');
    const other = await again.call('slow');
    expect(await start('two').get(taskId)).toMatchObject({ status: 'failed', error: { code: -32603 } });
    expect(await again.get(other.taskId)).toMatchObject({ status: 'working' });
  });
});

describe('close()', () => {
  test('aborts running tasks. Those that end in time keep their result, and the others fail', async () => {
    const { server, call, get } = setUp();
    server.tool('obeys', { task: true }, async (_, { signal }) => {
      await aborted(signal);
      return 'so far';
    });
    server.tool('throws', { task: true }, async (_, { signal }) => {
      await aborted(signal);
      throw new Error('interrupted');
    });
    server.tool('ignores', { task: true }, () => new Promise(() => {}));
    const ids: string[] = [];
    for (const name of ['obeys', 'throws', 'ignores']) ids.push((await call(name)).taskId);
    await server.close(20);
    const ends = await Promise.all(ids.map(async (id) => (await get(id)).status));
    expect(ends).toEqual(['completed', 'failed', 'failed']);
    server.tool('late', { task: true }, () => 'ordinary');
    expect(await call('late')).toEqual({ content: [{ type: 'text', text: 'ordinary' }] });
  });

  test('can be called again while it waits', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { server, call } = setUp();
    server.tool('obeys', { task: true }, async (_, { signal }) => {
      await aborted(signal);
      return 'so far';
    });
    await call('obeys');
    await Promise.all([server.close(5000), server.close(5000)]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('returns at once if nothing runs', async () => {
    const { server, call, get } = setUp();
    server.tool('fast', { task: true }, () => 'done');
    const { taskId } = await call('fast');
    await get(taskId);
    await server.close(600_000);
  });
});

test.each([
  [{ ttlMs: 0 }],
  [{ ttlMs: 1.5 }],
  [{ ttlMs: 2 ** 31 }],
  [{ pollIntervalMs: 0 }],
  [{ start: 'later' as 'at-once' }],
])('invalid task options are refused: %j', (task) => {
  const { server } = setUp();
  expect(() => server.tool('slow', { task }, () => 1)).toThrow(TypeError);
});
