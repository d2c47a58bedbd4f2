import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { connect } from '../../src/client/connect.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { clientOf, PlayedServer, type HandAnswer } from './played-server.ts';

const MADE = { resultType: 'task', taskId: 't', status: 'working', pollIntervalMs: 0 };

/** A server whose call becomes a task with the given state. */
function tasks(get: HandAnswer, more: Record<string, HandAnswer> = {}): PlayedServer {
  return new PlayedServer({ 'tools/call': () => MADE, 'tasks/get': get, ...more });
}

/** A task that asks the given question until it is answered. */
function asking(inputRequests: JsonObject): PlayedServer {
  let answered = false;
  return tasks(
    () =>
      answered
        ? { taskId: 't', status: 'completed', result: { content: [] } }
        : { taskId: 't', status: 'input_required', pollIntervalMs: 0, inputRequests },
    { 'tasks/update': () => ((answered = true), {}) },
  );
}

test.each<[string, (client: Client) => Promise<unknown>]>([
  ['tools/list', (client) => client.listTools()],
  ['prompts/get', (client) => client.getPrompt('p')],
  ['resources/read', (client) => client.readResource('a:b')],
  ['completion/complete', (client) => client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'x', value: '' })],
  ['x/own', (client) => client.request('x/own')],
])('a task is not a valid result of %s', async (method, call) => {
  const server = new PlayedServer({ [method]: () => MADE });
  const { client } = await clientOf(server);
  await expect(call(client)).rejects.toThrow(`The server answered ${method} with a result of type "task"`);
  expect(server.of('tasks/get')).toEqual([]);
});

test('a tool may answer directly, or with a task whose result is the tool’s', async () => {
  const content = [{ type: 'text', text: 'done' }];
  const server = tasks(() => ({ taskId: 't', status: 'completed', result: { content } }), {
    'tools/call': ({ params }) => (params.name === 'slow' ? MADE : { content }),
  });
  const { client } = await clientOf(server);
  expect(await client.callTool('fast')).toEqual({ content });
  expect(await client.callTool('slow')).toEqual({ content });
});

test('a task is cancelled with tasks/cancel, not with a notification', async () => {
  const server = tasks(() => ({ taskId: 't', status: 'working', pollIntervalMs: 60_000 }));
  const { client } = await clientOf(server);
  const controller = new AbortController();
  const call = client.callTool('a', {}, { signal: controller.signal });
  await vi.waitFor(() => expect(server.of('tasks/get')).toHaveLength(1));
  controller.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
  await vi.waitFor(() => expect(server.of('tasks/cancel')).toHaveLength(1));
  expect(server.of('tasks/cancel')[0].params).toMatchObject({ taskId: 't' });
  const [{ id }] = server.of('tools/call');
  expect(server.of('notifications/cancelled').filter(({ params }) => params.requestId === id)).toEqual([]);
});

describe('a question of a task', () => {
  const form = { type: 'object', properties: { age: { type: 'integer', minimum: 0, default: 18 } } };

  test('is answered like a question during a call, and the task is polled again', async () => {
    const params = { message: 'How old?', requestedSchema: form };
    const server = asking({ k: { method: 'elicitation/create', params } });
    const onelicit = vi.fn<() => { action: 'accept' }>(() => ({ action: 'accept' }));
    const { client } = await clientOf(server, { onelicit });
    expect(await client.callTool('a')).toEqual({ content: [] });
    expect(onelicit.mock.calls).toEqual([
      [params, { method: 'tools/call', key: 'k', signal: expect.any(AbortSignal) }],
    ]);
    expect(server.of('tasks/update').map(({ params: { inputResponses } }) => inputResponses)).toEqual([
      { k: { action: 'accept', content: { age: 18 } } },
    ]);
  });

  test.each<[string, JsonObject, number]>([
    ['has no handler', { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }, -32021],
    ['has an unknown method', { method: 'x/own', params: {} }, -32601],
    ['has an invalid form', { method: 'elicitation/create', params: { message: 'How old?' } }, -32602],
    ['has an invalid answer', { method: 'elicitation/create', params: { message: '', requestedSchema: form } }, -32603],
  ])('that %s is refused as during a call, and the task is cancelled', async (_, question, code) => {
    const inTask = asking({ k: question });
    const inRound = new PlayedServer({
      'tools/call': () => ({ resultType: 'input_required', inputRequests: { k: question } }),
    });
    for (const server of [inTask, inRound]) {
      const { client } = await clientOf(server, { onelicit: () => ({ action: 'accept', content: { age: -1 } }) });
      await expect(client.callTool('a')).rejects.toMatchObject({ name: 'RpcError', code });
    }
    expect(inTask.of('tasks/update')).toEqual([]);
    await vi.waitFor(() => expect(inTask.of('tasks/cancel')).toHaveLength(1));
  });
});

test('the error for a failed task explains the problem', async () => {
  const server = new McpServer({ name: 's', version: '1' });
  server.tool('slow', { task: { required: true } }, () => '');
  const client = await connect(server);
  const withoutTasks = await connect(server, { tasks: false });
  onTestFinished(async () => void (await Promise.all([client.close(), withoutTasks.close()])));
  await expect(client.task('none').get()).rejects.toThrow(/unknown task|no such task|not found/i);
  await expect(client.task('none').cancel()).rejects.toThrow(/task/i);
  await expect(withoutTasks.callTool('slow')).rejects.toThrow(/io\.modelcontextprotocol\/tasks/);
  await expect(withoutTasks.task('none').get()).rejects.toThrow(/io\.modelcontextprotocol\/tasks/);
});
