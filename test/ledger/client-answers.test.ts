import { expect, test, vi } from 'vitest';
import type { Handlers } from '../../src/client/handlers.ts';
import { RpcError } from '../../src/jsonrpc/errors.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { json, scripted } from '../support/http-server.ts';
import { calling, type LegacyServer } from '../support/legacy-server.ts';

const requestedSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', default: 18 } },
  required: ['name', 'age'],
};
const form = { message: 'Who?', requestedSchema };
const visit = { mode: 'url', message: 'Go', url: 'https://example.com/', elicitationId: '1' };
const text = { type: 'text', text: 'hi' };
const sampling = { messages: [{ role: 'user', content: text }], maxTokens: 1 };
const fails = (): never => {
  throw new Error('the password is hunter2');
};
const rejects = (): never => {
  throw new RpcError(-1, 'User rejected sampling request');
};
const model = () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'hello' } }) as const;

/** Asks during a call, and returns the answer. */
async function asked(server: LegacyServer, method: string, params?: JsonObject): Promise<any> {
  await server.send({ id: 'q', method, ...(params && { params }) });
  return server.heard();
}

test.each<[string, Handlers, JsonObject | undefined, JsonObject]>([
  [
    'roots/list',
    { onroots: () => [{ uri: 'file:///a', name: 'A' }] },
    undefined,
    { roots: [{ uri: 'file:///a', name: 'A' }] },
  ],
  ['sampling/createMessage', { onsample: model }, sampling, model()],
  [
    'elicitation/create',
    { onelicit: () => ({ action: 'accept', content: { name: 'Ada' } }) },
    form,
    { action: 'accept', content: { name: 'Ada', age: 18 } },
  ],
  ['elicitation/create', { onelicit: () => ({ action: 'decline' }) }, { ...form, mode: 'form' }, { action: 'decline' }],
  ['elicitation/create', { onelicit: { url: () => ({ action: 'cancel' }) } }, visit, { action: 'cancel' }],
])('%s is answered by its handler (%j)', async (method, handlers, params, result) => {
  const { client, server, errors } = await calling(handlers);
  const call = client.callTool('a');
  const { id } = await server.heard();
  expect(await asked(server, method, params)).toEqual({ jsonrpc: '2.0', id: 'q', result });
  await server.send({ id, result: { content: [] } });
  await call;
  expect(errors).toEqual([]);
});

const tool = { name: 'add', inputSchema: { type: 'object' } };
test.each<[string, string, Handlers, JsonObject | undefined, number]>([
  ['roots without a handler', 'roots/list', {}, undefined, -32601],
  ['roots that cannot be read', 'roots/list', { onroots: fails }, undefined, -32603],
  ['roots that are not file URLs', 'roots/list', { onroots: () => [{ uri: 'https://a.example' }] }, undefined, -32603],
  ['sampling that the user rejects', 'sampling/createMessage', { onsample: rejects }, sampling, -1],
  ['sampling with tools', 'sampling/createMessage', { onsample: model }, { ...sampling, tools: [tool] }, -32602],
  [
    'sampling with a choice of tools',
    'sampling/createMessage',
    { onsample: model },
    { ...sampling, toolChoice: { mode: 'auto' } },
    -32602,
  ],
  [
    'sampling without a tool’s result',
    'sampling/createMessage',
    { onsample: model, sampling: { tools: true } },
    { messages: [{ role: 'assistant', content: { type: 'tool_use', id: '1', name: 'add', input: {} } }], maxTokens: 1 },
    -32602,
  ],
  ['a URL elicitation if only forms are supported', 'elicitation/create', { onelicit: model as never }, visit, -32602],
  ['a form if only URL elicitation is supported', 'elicitation/create', { onelicit: { url: fails } }, form, -32602],
  [
    'a form whose answer has other fields',
    'elicitation/create',
    { onelicit: () => ({ action: 'accept', content: { name: 7 } }) },
    form,
    -32603,
  ],
])('%s is an error (%s)', async (_, method, handlers, params, code) => {
  const { client, server } = await calling(handlers);
  const call = client.callTool('a');
  const { id } = await server.heard();
  const answer = await asked(server, method, params);
  expect(answer).toMatchObject({ id: 'q', error: { code, message: expect.any(String) } });
  expect(JSON.stringify(answer)).not.toContain('hunter2');
  await server.send({ id, result: { content: [] } });
  await call;
});

test('the URL of an elicitation is passed on completely, and never fetched', async () => {
  const page = await scripted((_asked, response) => json(response, {}));
  const url = `${page.url.href}?for=ada#top`;
  const seen = vi.fn<(request: { url: string }) => { action: 'accept' }>(() => ({ action: 'accept' }));
  const { client, server } = await calling({ onelicit: { url: seen } });
  const call = client.callTool('a');
  const { id } = await server.heard();
  expect(await asked(server, 'elicitation/create', { ...visit, url })).toMatchObject({ result: { action: 'accept' } });
  await server.send({ method: 'notifications/elicitation/complete', params: { elicitationId: '1' } });
  await server.send({ id, result: { content: [] } });
  await call;
  expect(seen.mock.calls.map(([request]) => request.url)).toEqual([url]);
  expect(page.connections()).toBe(0);
});

test('a client without handlers answers no question, and sends no roots notification', async () => {
  const { server, client } = await calling();
  expect(await asked(server, 'sampling/createMessage', sampling)).toMatchObject({ error: { code: -32601 } });
  expect(await asked(server, 'elicitation/create', form)).toMatchObject({ error: { code: -32601 } });
  expect(await asked(server, 'roots/list')).toMatchObject({ error: { code: -32601 } });
  await client.rootsChanged();
  expect(await server.pinged()).toEqual([]);
});

test('a server is notified of changed roots', async () => {
  const { client, server } = await calling({ onroots: () => [] });
  await client.rootsChanged();
  expect(await server.heard()).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/roots/list_changed',
    params: {},
  });
});
