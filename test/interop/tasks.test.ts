import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { McpServer } from '../../src/server/index.ts';
import { meta, modernHeaders, modernRequest } from '../support/modern.ts';

type JsonObject = Record<string, any>;

/**
 * The official client has the methods of the tasks extension, but does not accept a task as a result. So the test sends
 * the call itself, and the client polls it.
 */

const EXTENSION = 'io.modelcontextprotocol/tasks';
const CAPABILITIES = { elicitation: { form: {} }, extensions: { [EXTENSION]: {} } };

const NAMED = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const;

function printer(): McpServer {
  const server = new McpServer({ name: 'printer', version: '1.0.0' });
  onTestFinished(() => server.close());
  server.tool('print', { input: NAMED, task: { pollIntervalMs: 10 } }, async ({ name }, ctx) => {
    const { content } = await ctx.elicit({ message: `Which colour for ${name}?`, schema: NAMED });
    return `${name} in ${content?.name}`;
  });
  server.tool('idle', { task: { pollIntervalMs: 10 } }, async (_, ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    throw new Error('was called off');
  });
  return server;
}

describe('a task over HTTP', () => {
  test('is polled and answered by the official client until it has ended', async () => {
    const { begin, request } = await opened();
    const task = await begin('print', { name: 'Poems' });
    expect(task).toMatchObject({ resultType: 'task', status: expect.stringMatching(/working|input_required/) });
    const { taskId } = task;
    const asking = await until(() => request('tasks/get', { taskId }), 'input_required');
    const [[key, question]] = Object.entries<JsonObject>(asking['inputRequests']) as [[string, JsonObject]];
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Which colour for Poems?' } });
    const inputResponses = { [key]: { action: 'accept', content: { name: 'blue' } } };
    expect(await request('tasks/update', { taskId, inputResponses })).not.toHaveProperty('status');
    const done = await until(() => request('tasks/get', { taskId }), 'completed');
    expect(done['result']).toMatchObject({ content: [{ type: 'text', text: 'Poems in blue' }] });
  });

  test('is cancelled by the official client', async () => {
    const { begin, request } = await opened();
    const { taskId } = await begin('idle');
    await request('tasks/cancel', { taskId });
    await until(() => request('tasks/get', { taskId }), 'cancelled');
  });

  test('with an unknown id is an error for the official client', async () => {
    const { request } = await opened();
    await expect(request('tasks/get', { taskId: 'nobody' })).rejects.toMatchObject({ code: -32602 });
  });

  test('is not created for calls of the official client itself, which does not declare the extension', async () => {
    const { client } = await opened();
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'red' } }));
    const { content } = await client.callTool({ name: 'print', arguments: { name: 'Tales' } });
    expect(content).toEqual([{ type: 'text', text: 'Tales in red' }]);
  });
});

async function opened() {
  const { url } = await printer().listen({ port: 0, grace: 20_000 });
  const options = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } };
  const client = new Client({ name: 'interop', version: '1.0.0' }, options);
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const begin = async (name: string, args: JsonObject = {}): Promise<JsonObject> => {
    const message = modernRequest('begin', 'tools/call', { name, arguments: args }, CAPABILITIES);
    const response = await fetch(url, {
      method: 'POST',
      headers: modernHeaders(message),
      body: JSON.stringify(message),
    });
    return ((await response.json()) as JsonObject)['result'];
  };
  const request = (method: string, params: JsonObject): Promise<JsonObject> =>
    client.request({ method, params: { ...params, _meta: meta(CAPABILITIES) } }, z.looseObject({}));
  return { client, begin, request };
}

/** Polls a task at its own interval until it has the given status. */
async function until(look: () => Promise<JsonObject>, status: string): Promise<JsonObject> {
  for (;;) {
    const task = await look();
    if (task['status'] === status) return task;
    expect(task['status']).toBe('working');
    await new Promise((resolve) => setTimeout(resolve, task['pollIntervalMs']));
  }
}
