import { expect, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { Middleware } from '../core/exchange.ts';
import { Method } from '../protocol/methods.ts';
import { McpServer } from '../server/mcp-server.ts';
import type { Client } from './client.ts';
import { connect } from './connect.ts';

/** The outcome of a client's call if the server answers one method with the given result. */
async function answered<T>(method: string, result: JsonObject, use: (client: Client) => Promise<T>): Promise<T> {
  const server = new McpServer({ name: 'odd', version: '1.0.0' });
  const odd: Middleware = (next) => async (exchange) =>
    exchange.method === method ? { resultType: 'complete', ...result } : next(exchange);
  const client = await connect(server, { middleware: [odd], onerror: () => {} });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const lists: Record<string, [string, (client: Client) => Promise<unknown>]> = {
  tools: [Method.ListTools, (client) => client.listTools()],
  prompts: [Method.ListPrompts, (client) => client.listPrompts()],
  resources: [Method.ListResources, (client) => client.listResources()],
  resourceTemplates: [Method.ListResourceTemplates, (client) => client.listResourceTemplates()],
};

test.each<[string, unknown[], string]>([
  ['tools', [null], 'tools[0] is not an object'],
  ['tools', [{ name: 'a', inputSchema: {} }, { name: 5 }], 'tools[1].name is not a string'],
  ['prompts', [[]], 'prompts[0] is not an object'],
  ['prompts', [{ name: 'a', arguments: [null] }], 'prompts[0].arguments[0] is not an object'],
  ['prompts', [{ name: 'a', arguments: 5 }], 'without prompts[0].arguments'],
  ['resources', [{ name: 'a' }], 'resources[0].uri is not a string'],
  ['resourceTemplates', ['a'], 'resourceTemplates[0] is not an object'],
])('a list of %s with %j is refused', async (property, entries, message) => {
  const [method, list] = lists[property]!;
  const error: unknown = await answered(method, { [property]: entries }, list).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'InvalidResultError', message: expect.stringContaining(message) });
});

test.each<[unknown, string]>([
  [5, 'without content'],
  [[null], 'content[0] is not an object'],
  [[{ text: 'a' }], 'content[0].type is not a string'],
  [[{ type: 'text', text: 'a' }, { type: 'text' }], 'content[1].text is not a string'],
  [[{ type: 'image', data: 5 }], 'content[0].data is not a string'],
  [[{ type: 'resource' }], 'content[0].resource is not an object'],
  [[{ type: 'resource', resource: { uri: 'a:b', blob: 5 } }], 'content[0].resource.blob is not a string'],
])('content of a tool is refused if it is %j', async (content, message) => {
  const call = answered(Method.CallTool, { content }, (client) => client.callTool('any'));
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'InvalidResultError', message: expect.stringContaining(message) });
});

test('content of an unknown type is accepted', async () => {
  const content = [{ type: 'smell', data: 5 }, { type: 'constructor' }];
  expect((await answered(Method.CallTool, { content }, (client) => client.callTool('any'))).content).toEqual(content);
});

test.each<[unknown, string]>([
  [[null], 'contents[0] is not an object'],
  [[{ text: 'a' }], 'contents[0].uri is not a string'],
  [[{ uri: 'a:b' }], 'contents[0].blob is not a string'],
  [[{ uri: 'a:b', text: 5 }], 'contents[0].text is not a string'],
  [[{ uri: 'a:b', blob: 5 }], 'contents[0].blob is not a string'],
])('contents of a resource are refused if they are %j', async (contents, message) => {
  const read = answered(Method.ReadResource, { contents }, (client) => client.readResource('a:b'));
  const error: unknown = await read.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'InvalidResultError', message: expect.stringContaining(message) });
});

test('messages of a prompt must be objects with content', async () => {
  const get = (messages: unknown[]) =>
    answered(Method.GetPrompt, { messages }, (client) => client.getPrompt('any')).catch((thrown: unknown) => thrown);
  expect(await get([null])).toMatchObject({ message: expect.stringContaining('messages[0] is not an object') });
  expect(await get([{ role: 'user' }])).toMatchObject({
    message: expect.stringContaining('messages[0].content is not an object'),
  });
  const good = [{ role: 'user', content: { type: 'text', text: 'a' } }];
  expect(await get(good)).toMatchObject({ messages: good });
});

test('completions must be strings', async () => {
  const completed = answered(Method.Complete, { completion: { values: ['a', null] } }, (client) =>
    client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'a', value: '' }),
  );
  await expect(completed).rejects.toThrow('values[1] is not a string');
});
