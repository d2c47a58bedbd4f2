import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { apiKeyAuth } from '../src/auth/index.ts';
import type { JsonObject } from '../src/jsonrpc/message.ts';
import { McpServer, memoryTaskStore, type McpServerOptions } from '../src/server/index.ts';
import { Events } from './support/http.ts';
import { modernHeaders, modernRequest } from './support/modern.ts';
import { aborted, deferred } from './support/service.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const ABLE: JsonObject = { elicitation: {}, extensions: { [TASKS]: {} } };
const FORM = {
  message: 'Your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
} as const;

interface Sending {
  readonly key?: string;
  readonly capabilities?: JsonObject;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

const json = (response: Response): Promise<any> => response.json();

/** A server on its own port, and a client that uses only `fetch`. */
async function serve(register: (server: McpServer) => void, options: Partial<McpServerOptions> = {}) {
  const errors: Error[] = [];
  const server = new McpServer({ name: 'test', version: '1', onerror: (error) => errors.push(error), ...options });
  register(server);
  const listener = await server.listen({ port: 0, grace: 3000 });
  onTestFinished(() => server.close(0));
  let id = 0;
  const post = (method: string, params: JsonObject = {}, sending: Sending = {}): Promise<Response> => {
    const message = modernRequest((id += 1), method, params, sending.capabilities ?? ABLE);
    const authorization: Record<string, string> =
      sending.key === undefined ? {} : { authorization: `Bearer ${sending.key}` };
    return fetch(listener.url, {
      method: 'POST',
      headers: { ...modernHeaders(message), ...authorization, ...sending.headers },
      body: JSON.stringify(message),
      signal: sending.signal ?? null,
    });
  };
  /** The response, from JSON or from the last message of a stream. */
  const send = async (method: string, params?: JsonObject, sending?: Sending): Promise<any> => {
    const response = await post(method, params, sending);
    if (response.headers.get('content-type')?.includes('application/json')) return json(response);
    const events = await new Events(response).rest();
    return JSON.parse(events.findLast(({ data }) => data)!.data!);
  };
  const call = async (name: string, sending?: Sending) => (await send('tools/call', { name }, sending)).result;
  const get = async (taskId: string, sending?: Sending) => (await send('tasks/get', { taskId }, sending)).result;
  const until = (taskId: string, status: string, sending?: Sending) =>
    vi.waitFor(async () => {
      const task = await get(taskId, sending);
      expect(task).toMatchObject({ status });
      return task;
    });
  const listen = async (taskIds: string[], sending?: Sending) =>
    new Events(await post('subscriptions/listen', { notifications: { taskIds } }, sending));
  return { server, errors, post, send, call, get, until, listen };
}

describe('tasks over HTTP', () => {
  test('a task starts, asks, gets its answer and completes, and its subscriber is notified each time', async () => {
    const { call, get, send, until, listen } = await serve((server) => {
      server.tool('hello', { task: true }, async (_, ctx) => {
        const { content } = await ctx.elicit(FORM, { key: 'name' });
        return `Hello, ${String(content?.['name'])}!`;
      });
    });
    const begun = await call('hello');
    expect(begun).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 3_600_000, pollIntervalMs: 25 });
    expect(begun).not.toHaveProperty('requestState');
    const { taskId } = begun;
    const events = await listen([taskId]);
    expect(await events.message()).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [taskId] } },
    });
    const asked = await until(taskId, 'input_required');
    expect(asked).toMatchObject({ resultType: 'complete', inputRequests: { name: { method: 'elicitation/create' } } });
    const answer = { name: { action: 'accept', content: { name: 'Luca' } } };
    const update = await send('tasks/update', { taskId, inputResponses: answer });
    expect(update.result).toEqual({ resultType: 'complete', _meta: expect.anything() });
    const done = await until(taskId, 'completed');
    expect(done.result).toEqual({ resultType: 'complete', content: [{ type: 'text', text: 'Hello, Luca!' }] });

    const updates: JsonObject[] = [];
    while (updates.at(-1)?.['status'] !== 'completed') {
      const { method, params } = await events.message();
      expect(method).toBe('notifications/tasks');
      updates.push(params);
    }
    expect(updates[0]).toMatchObject({ taskId, status: 'input_required', inputRequests: asked.inputRequests });
    const { resultType: _, _meta: __, ...task } = await get(taskId);
    expect(updates.at(-1)).toMatchObject(task);
    expect(updates.at(-1)?.['_meta']).toHaveProperty('io.modelcontextprotocol/subscriptionId');
    await events.cancel();
  });

  test('questions before a task are rounds of the request', async () => {
    const { call, send, until } = await serve((server) => {
      server.tool('hello', { task: { start: 'by-handler' } }, async (_, ctx) => {
        const { content } = await ctx.elicit(FORM, { key: 'name' });
        await ctx.startTask();
        return `Hello, ${String(content?.['name'])}!`;
      });
    });
    const first = await call('hello');
    expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { name: {} } });
    expect(first).not.toHaveProperty('taskId');
    const { requestState } = first;
    const inputResponses = { name: { action: 'accept', content: { name: 'Alice' } } };
    const { result } = await send('tools/call', { name: 'hello', requestState, inputResponses });
    expect(result).toMatchObject({ resultType: 'task', status: 'working' });
    expect(result).not.toHaveProperty('requestState');
    expect(await until(result.taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'Hello, Alice!' }] } });
  });

  test('cancelling a task fires its signal', async () => {
    const fired = deferred();
    const { call, send, get } = await serve((server) => {
      server.tool('slow', { task: true }, async (_, { signal }) => {
        await aborted(signal);
        fired.resolve();
        return 'too late';
      });
    });
    const { taskId } = await call('slow');
    const { result } = await send('tasks/cancel', { taskId });
    expect(result).toEqual({ resultType: 'complete', _meta: expect.anything() });
    await fired.promise;
    const task = await get(taskId);
    expect(task).toMatchObject({ status: 'cancelled' });
    expect(task).not.toHaveProperty('result');
  });

  test('a task continues after its client disconnects', async () => {
    const go = deferred();
    const { post, until } = await serve((server) => {
      server.tool('slow', { task: true }, async () => {
        await go.promise;
        return 'done';
      });
    });
    const leaving = new AbortController();
    const response = await post('tools/call', { name: 'slow' }, { signal: leaving.signal });
    const { taskId } = (await json(response)).result;
    leaving.abort();
    go.resolve();
    await until(taskId, 'completed');
  });

  test('a handler that never returns delays no other', async () => {
    const { call, get, server } = await serve((made) => {
      made.tool('stuck', { task: true }, () => new Promise(() => {}));
    });
    const begun = await Promise.all(Array.from({ length: 20 }, () => call('stuck')));
    for (const { taskId } of begun) expect(await get(taskId)).toMatchObject({ status: 'working' });
    await server.close(10);
  });

  test('a task of one principal is unknown to another, in a subscription too', async () => {
    const { call, send, listen, get } = await serve(
      (server) => void server.tool('slow', { task: true }, () => new Promise(() => {})),
      { http: { auth: apiKeyAuth({ keys: { 'key-of-ann-1234567': 'ann', 'key-of-bob-1234567': 'bob' } }) } },
    );
    const ann = { key: 'key-of-ann-1234567' };
    const bob = { key: 'key-of-bob-1234567' };
    const { taskId } = await call('slow', ann);
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const wrong = await send(method, { taskId, inputResponses: {} }, bob);
      const none = await send(method, { taskId: 'none', inputResponses: {} }, bob);
      expect(wrong.error.code).toBe(-32602);
      expect(wrong.error).toEqual(none.error);
    }
    const events = await listen([taskId], bob);
    expect((await events.message()).params.notifications).toEqual({});
    await events.cancel();
    expect(await get(taskId, ann)).toMatchObject({ status: 'working' });
  });

  test('too many tasks are refused, and running ones continue', async () => {
    const go = deferred();
    const { send, until, errors } = await serve(
      (server) =>
        void server.tool('slow', { task: { required: true } }, async () => {
          await go.promise;
          return 'done';
        }),
      { tasks: { store: memoryTaskStore({ maxTasks: 10 }) } },
    );
    const answers = await Promise.all(Array.from({ length: 200 }, () => send('tools/call', { name: 'slow' })));
    const taken = answers.filter(({ result }) => result);
    // One address without a principal may have seven eighths.
    expect(taken).toHaveLength(9);
    expect(new Set(answers.filter(({ error }) => error).map(({ error }) => error.code))).toEqual(new Set([-32603]));
    go.resolve();
    for (const { result } of taken) await until(result.taskId, 'completed');
    expect(errors).toEqual([]);
  });

  test.each([
    ['names another task', { 'mcp-name': 'another' }],
    ['names another method', { 'mcp-method': 'tasks/cancel' }],
  ])('a request whose header %s is refused', async (_, headers) => {
    const { call, post } = await serve(
      (server) => void server.tool('slow', { task: true }, () => new Promise(() => {})),
    );
    const { taskId } = await call('slow');
    const response = await post('tasks/get', { taskId }, { headers });
    expect(response.status).toBe(400);
    expect((await json(response)).error.code).toBe(-32020);
  });

  test('a client that does not declare the extension gets results, and no tasks', async () => {
    const { send, call, get, post } = await serve((server) => {
      server.tool('fast', { task: true }, () => 'done');
      server.tool('slow', { task: { required: true } }, () => 'done');
    });
    const without = { capabilities: {} };
    expect(await call('fast', without)).toMatchObject({ resultType: 'complete', content: [{ text: 'done' }] });
    const { taskId } = await call('fast');
    await get(taskId);
    for (const [method, params] of [
      ['tools/call', { name: 'slow' }],
      ['tasks/get', { taskId }],
      ['tasks/update', { taskId, inputResponses: {} }],
      ['tasks/cancel', { taskId }],
      ['subscriptions/listen', { notifications: { taskIds: [taskId] } }],
    ] as const) {
      const response = await post(method, params, without);
      expect(response.status).toBe(400);
      const { error } = await json(response);
      expect(error).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
      });
    }
    expect((await send('server/discover', {}, without)).result.capabilities.extensions).toEqual({ [TASKS]: {} });
  });
});
