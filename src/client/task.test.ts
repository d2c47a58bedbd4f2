import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Service } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from '../server/mcp-server.ts';
import { connect } from './connect.ts';
import type { ClientOptions } from './options.ts';

// The first task loads what the server needs for tasks, which takes real time.
beforeAll(async () => {
  const server = new McpServer({ name: 'first', version: '1.0.0' });
  server.tool('first', { task: true }, () => '');
  const client = await connect(server);
  await client.callTool('first', {}, { detach: true });
  await client.close();
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

async function printer(options: ClientOptions = {}) {
  const server = new McpServer({ name: 'printer', version: '1.0.0' });
  const cancelled = vi.fn<() => void>();
  server.tool('print', { task: { pollIntervalMs: 200 } }, async (_, context) => {
    await context.progress(1, 2, 'page 1');
    const { action, content } = await context.elicit({
      message: 'Which colour?',
      schema: { type: 'object', properties: { colour: { type: 'string' } } },
    });
    return `${action} ${JSON.stringify(content)}`;
  });
  server.tool('wait', { task: { pollIntervalMs: 200 } }, async (_, context) => {
    context.signal.addEventListener('abort', cancelled);
    await new Promise((_resolve, reject) => {
      context.signal.addEventListener('abort', () => reject(context.signal.reason));
    });
    return '';
  });
  const client = await connect(server, options);
  onTestFinished(() => client.close());
  return { client, server, cancelled };
}

/** Advances the clock until the promise settles. */
async function inTime<T>(promise: Promise<T>): Promise<T> {
  let settled = false;
  const done = (): void => {
    settled = true;
  };
  promise.then(done, done);
  for (let step = 0; step < 1000 && !settled; step += 1) await vi.advanceTimersByTimeAsync(100);
  return promise;
}

test('a call that becomes a task still returns its result, and its questions are answered', async () => {
  const onelicit = vi.fn<() => { action: 'accept'; content: { colour: string } }>(() => ({
    action: 'accept',
    content: { colour: 'red' },
  }));
  const { client } = await printer({ onelicit });
  const onstatus = vi.fn<(task: { status: string }) => void>();
  expect(await inTime(client.callTool('print', {}, { onstatus }))).toMatchObject({
    content: [{ text: 'accept {"colour":"red"}' }],
  });
  expect(onelicit).toHaveBeenCalledTimes(1);
  const statuses = onstatus.mock.calls.map(([{ status }]) => status);
  expect([statuses[0], statuses.at(-1)]).toEqual(['input_required', 'completed']);
});

test('a detached call does not wait for its task, but another client can', async () => {
  const { client, server } = await printer({ onelicit: () => ({ action: 'cancel' }) });
  const { task } = await client.callTool('print', {}, { detach: true });
  const other = await connect(server, { onelicit: () => ({ action: 'decline' }) });
  onTestFinished(() => other.close());
  expect(await inTime(other.task(task!.id).result())).toMatchObject({ content: [{ text: 'decline undefined' }] });
  expect(await task!.get()).toMatchObject({ status: 'completed' });
});

test('cancelling a call that became a task cancels the task', async () => {
  const { client, cancelled } = await printer();
  const controller = new AbortController();
  const call = client.callTool('wait', {}, { signal: controller.signal });
  await vi.advanceTimersByTimeAsync(300);
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(call).rejects.toBe(reason);
  await vi.waitFor(() => expect(cancelled).toHaveBeenCalled());
});

test('the task is also cancelled if it takes longer than the timeout of the call', async () => {
  const { client, cancelled } = await printer();
  const call = client.callTool('wait', {}, { maxTimeout: 1000 });
  await expect(inTime(call)).rejects.toMatchObject({ name: 'TimeoutError' });
  await vi.waitFor(() => expect(cancelled).toHaveBeenCalled());
});

test('cancelling a wait on a handle does not cancel the task, but cancel does', async () => {
  const { client, cancelled } = await printer();
  const { task } = await client.callTool('wait', {}, { detach: true });
  await expect(inTime(task!.result({ maxTimeout: 500 }))).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(cancelled).not.toHaveBeenCalled();
  await task!.cancel();
  await expect(inTime(task!.result())).rejects.toMatchObject({ name: 'TaskCancelledError' });
});

test('if a question gets no answer, the call fails and the task is cancelled', async () => {
  const onerror = vi.fn<(error: Error) => void>();
  const { client } = await printer({
    onerror,
    onelicit: () => {
      throw new Error('no person there');
    },
  });
  await expect(inTime(client.callTool('print'))).rejects.toMatchObject({ code: -32603 });
  expect(onerror).toHaveBeenCalled();
});

test('with tasks: false, the server does not create tasks', async () => {
  const { client } = await printer({ tasks: false, onelicit: () => ({ action: 'cancel' }) });
  expect(await inTime(client.callTool('print'))).toMatchObject({ content: [{ text: 'cancel undefined' }] });
});

test('closing the client ends waiting for a task', async () => {
  const { client } = await printer();
  const call = client.callTool('wait').catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(300);
  await client.close();
  expect(await call).toMatchObject({ message: 'The client was closed' });
});

describe('a server that behaves oddly', () => {
  const DISCOVERED = { supportedVersions: [], capabilities: {} };
  const made = { resultType: 'task', taskId: 't', status: 'working', pollIntervalMs: 100 };

  async function odd(
    get: (time: number) => JsonObject,
    { task = made, options = {} }: { task?: JsonObject; options?: ClientOptions } = {},
  ) {
    const polls: number[] = [];
    const updates: JsonObject[] = [];
    const service: Service = async ({ method, params }) => {
      if (method === 'server/discover') return DISCOVERED;
      if (method === 'tools/call') return task;
      if (method === 'tasks/update') updates.push(params['inputResponses']);
      if (method !== 'tasks/get') return {};
      polls.push(Date.now());
      return get(polls.length);
    };
    const client = await connect({ service }, options);
    onTestFinished(() => client.close());
    return { client, polls, updates };
  }

  /** Checks the pauses between polls. Each may be up to a tenth longer. */
  function expectGaps(polls: readonly number[], expected: readonly number[]): void {
    const gaps = polls.slice(1).map((at, index) => at - polls[index]!);
    expect(gaps).toHaveLength(expected.length);
    for (const [index, least] of expected.entries()) {
      expect(gaps[index]).toBeGreaterThanOrEqual(least);
      expect(gaps[index]).toBeLessThanOrEqual(least * 1.1 + 1);
    }
  }

  /** Waits for a task that asks for these intervals, one after another. Returns when it was polled. */
  async function polledAt(intervals: readonly (number | undefined)[]): Promise<number[]> {
    const { client, polls } = await odd(
      (time) => {
        if (time > intervals.length) return { status: 'completed', result: { content: [] } };
        const pollIntervalMs = intervals[time - 1];
        return { status: 'working', ...(pollIntervalMs !== undefined && { pollIntervalMs }) };
      },
      { task: { resultType: 'task', taskId: 't', status: 'working' } },
    );
    const begun = Date.now();
    await inTime(client.callTool('a'));
    return [begun, ...polls];
  }

  test('is polled at the interval that it asks for, within limits', async () => {
    expectGaps(await polledAt([5000, 5000, 10_000_000]), [25, 5000, 5000, 60_000]);
  });

  test('is polled soon at first if it asks for no pause, and then every 100 ms', async () => {
    expectGaps(await polledAt([0, 0, 0, 0]), [25, 25, 50, 100, 100]);
  });

  test('is polled soon at first if it asks for no interval, and then every second', async () => {
    const intervals = Array.from({ length: 7 }, () => undefined);
    expectGaps(await polledAt(intervals), [25, 25, 50, 100, 200, 400, 800, 1000]);
  });

  test('gets one answer to a question, even if it shows the question again', async () => {
    const inputRequests = { a: { method: 'roots/list' } };
    const onroots = vi.fn<() => []>(() => []);
    const { client, updates } = await odd(
      (time) =>
        time > 3 ? { status: 'completed', result: { content: [] } } : { status: 'input_required', inputRequests },
      { options: { onroots } },
    );
    await inTime(client.callTool('a'));
    expect(updates).toEqual([{ a: { roots: [] } }]);
    expect(onroots).toHaveBeenCalledTimes(1);
  });

  test('gets answers to as many questions at a time as fit into 64 MiB', async () => {
    const message = 'x'.repeat(30 * 1024 * 1024);
    const form = { method: 'elicitation/create', params: { message, requestedSchema: { type: 'object' } } };
    let open = 0;
    let most = 0;
    const onelicit = async (): Promise<{ action: 'decline' }> => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      open -= 1;
      return { action: 'decline' };
    };
    const left = new Map(['a', 'b', 'c', 'd', 'e'].map((key) => [key, form]));
    const { client, updates } = await odd(
      () => {
        for (const update of updates) for (const key of Object.keys(update)) left.delete(key);
        if (left.size === 0) return { status: 'completed', result: { content: [] } };
        return { status: 'input_required', inputRequests: Object.fromEntries(left) };
      },
      { options: { onelicit } },
    );
    await inTime(client.callTool('a'));
    expect([most, updates.flatMap(Object.keys)]).toEqual([2, ['a', 'b', 'c', 'd', 'e']]);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['a protocol error', { status: 'failed', error: { code: -32050, message: 'no' } }, { code: -32050, message: 'no' }],
    [
      'a failure without an error',
      { status: 'failed', statusMessage: 'jam' },
      { message: 'The task failed without an error: jam' },
    ],
    [
      'an error whose code is no integer',
      { status: 'failed', error: { code: 1.5, message: 'no' }, statusMessage: 'jam' },
      { name: 'InvalidResultError', message: 'The task failed without an error: jam' },
    ],
    ['a completion without a result', { status: 'completed' }, { name: 'InvalidResultError' }],
    ['a missing status', {}, { name: 'InvalidResultError' }],
    [
      'a cancellation',
      { status: 'cancelled', statusMessage: 'by hand' },
      { message: 'The task was cancelled: by hand' },
    ],
    [
      'a question without a method',
      { status: 'input_required', inputRequests: { a: {} } },
      { name: 'InvalidResultError' },
    ],
    [
      'a question with a long key',
      { status: 'input_required', inputRequests: { ['k'.repeat(8193)]: { method: 'roots/list' } } },
      { message: 'The task asked a question whose key is longer than 8192 characters' },
    ],
    [
      'a text in place of questions',
      { status: 'input_required', inputRequests: 'x'.repeat(10_000) },
      { message: 'The server answered tasks/get with "inputRequests" that is not an object' },
    ],
  ])('makes a call fail if its task ends with %s', async (_, task, error) => {
    const { client } = await odd(() => task);
    await expect(inTime(client.callTool('a'))).rejects.toMatchObject(error);
  });

  test('makes a call fail if its task has no id', async () => {
    const { client } = await odd(() => ({}), { task: { resultType: 'task' } });
    await expect(client.callTool('a')).rejects.toThrow('without an id');
  });
});

/** A task that waits for one answer. `take` says whether the server accepts an update. */
async function asking(take: () => boolean, options: ClientOptions) {
  let answered = false;
  const form = { message: 'Which?', requestedSchema: { type: 'object', properties: {} } };
  const service: Service = ({ method }) => {
    const task = { taskId: 't', pollIntervalMs: 100 };
    if (method === 'tools/call') return Promise.resolve({ resultType: 'task', status: 'working', ...task });
    if (method === 'tasks/update') {
      if (!take()) throw new Error('busy');
      answered = true;
    }
    if (method === 'tasks/get') {
      const inputRequests = { q: { method: 'elicitation/create', params: form } };
      const now = answered
        ? { status: 'completed', result: { content: [] } }
        : { status: 'input_required', inputRequests };
      return Promise.resolve({ ...task, ...now });
    }
    const capabilities = { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    return Promise.resolve(method === 'server/discover' ? { supportedVersions: ['2026-07-28'], capabilities } : {});
  };
  const client = await connect({ service }, { onerror: () => {}, ...options });
  onTestFinished(() => client.close());
  const { task } = await client.callTool('ask', {}, { detach: true });
  return task!;
}

test('the next waiter is asked a question that nobody answered', async () => {
  const onelicit = vi
    .fn<() => Promise<{ action: 'decline' }>>()
    .mockImplementationOnce(() => new Promise(() => {}))
    .mockResolvedValue({ action: 'decline' });
  const task = await asking(() => true, { onelicit });
  await expect(inTime(task.result({ maxTimeout: 500 }))).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(await inTime(task.result())).toEqual({ content: [] });
  expect(onelicit).toHaveBeenCalledTimes(2);
});

test('the next waiter is asked a question whose answer was rejected', async () => {
  const onelicit = vi.fn<() => { action: 'decline' }>(() => ({ action: 'decline' }));
  const take = vi.fn<() => boolean>(() => true).mockReturnValueOnce(false);
  const task = await asking(take, { onelicit });
  await expect(inTime(task.result())).rejects.toThrow('busy');
  expect(await inTime(task.result())).toEqual({ content: [] });
  expect([onelicit.mock.calls.length, take.mock.calls.length]).toEqual([2, 2]);
});

test('a status with another task id is refused', async () => {
  const { client } = await printer();
  const { task } = await client.callTool('wait', {}, { detach: true });
  client.use((next) => async (exchange) => {
    const result = await next(exchange);
    return exchange.method === 'tasks/get' ? { ...result, taskId: 'other' } : result;
  });
  await expect(task!.get()).rejects.toMatchObject({ name: 'InvalidResultError' });
});
