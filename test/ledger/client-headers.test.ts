import { describe, expect, onTestFinished, test } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { connect } from '../../src/client/connect.ts';
import type { ClientOptions } from '../../src/client/options.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { decodeHeaderValue } from '../../src/protocol/header-value.ts';
import { event, events, json, scripted, type Asked, type ScriptedServer } from '../support/http-server.ts';
import { MODERN } from '../support/modern.ts';

const RESULT = {
  supportedVersions: [MODERN],
  capabilities: {},
  content: [],
  contents: [],
  messages: [],
  tools: [],
  prompts: [],
  resources: [],
  resourceTemplates: [],
  completion: { values: [] },
  status: 'working',
};

interface Opened extends ScriptedServer {
  readonly client: Client;
  readonly errors: string[];
  /** The requests of the given method. */
  readonly of: (method: string) => Asked[];
}

/** A client of a server over HTTP that lists the given tools and answers everything. */
async function opened(tools: JsonObject[] = [], options: ClientOptions = {}): Promise<Opened> {
  const server = await scripted(({ body: { id, method } }, response) => {
    if (method !== 'subscriptions/listen') return json(response, { jsonrpc: '2.0', id, result: { ...RESULT, tools } });
    const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications: {} };
    events(response, event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params }));
    return undefined;
  });
  const errors: string[] = [];
  const client = await connect(server.url, { onerror: ({ message }) => void errors.push(message), ...options });
  onTestFinished(() => client.close());
  return { ...server, client, errors, of: (method) => server.asked.filter(({ body }) => body.method === method) };
}

const tool = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  name: 'run',
  inputSchema: { type: 'object', properties, ...more },
});

test('each message is one POST to one URL, with Accept for JSON and event streams, and with its metadata in headers', async () => {
  const { client, asked } = await opened();
  await client.listTools();
  await client.callTool('a', { n: 1 });
  await client.readResource('file:///a');
  await client.getPrompt('p');
  await client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'x', value: '' });
  await client.task('t1').get();
  await client.task('t1').update({});
  await client.task('t1').cancel();
  await client.rootsChanged();
  const subscription = await client.subscribe('file:///a', () => {});
  await subscription.close();
  await client.request('x/own');
  const names: Record<string, string> = {
    'tools/call': 'a',
    'resources/read': 'file:///a',
    'prompts/get': 'p',
    'tasks/get': 't1',
    'tasks/update': 't1',
    'tasks/cancel': 't1',
  };
  const methods = asked.map(({ body }) => body.method);
  expect(methods).toEqual(expect.arrayContaining([...Object.keys(names), 'server/discover', 'x/own']));
  for (const { method, path, headers, body } of asked) {
    expect([method, path]).toEqual(['POST', '/mcp']);
    expect(body).toMatchObject({ jsonrpc: '2.0', id: expect.anything(), method: expect.any(String) });
    expect(headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': body.params['_meta']['io.modelcontextprotocol/protocolVersion'],
      'mcp-method': body.method,
    });
    expect(headers['mcp-name']).toBe(names[body.method]);
    expect(headers).not.toHaveProperty('mcp-session-id');
  }
});

test.each([
  ['plain', 'plain'],
  ['größe', '=?base64?Z3LDtsOfZQ==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['a\r\nX-Evil: 1', '=?base64?YQ0KWC1FdmlsOiAx?='],
  ['=?base64?eA==?=', '=?base64?PT9iYXNlNjQ/ZUE9PT89?='],
])('the name %j is sent as %s', async (name, said) => {
  const { client, of } = await opened();
  await client.callTool(name);
  await client.getPrompt(name);
  await client.readResource(name);
  for (const method of ['tools/call', 'prompts/get', 'resources/read']) {
    const [{ headers, body }] = of(method) as [Asked];
    expect(headers['mcp-name']).toBe(said);
    expect(decodeHeaderValue(said)).toBe(body.params.name ?? body.params.uri);
    expect(headers).not.toHaveProperty('x-evil');
  }
});

describe('arguments that a tool wants in headers', () => {
  const schema = {
    text: { type: 'string', 'x-mcp-header': 'Text' },
    deep: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
    flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
    other: { type: 'string' },
  };

  test.each<[JsonObject, Record<string, string>]>([
    [{ text: 'us-west1' }, { text: 'us-west1' }],
    [{ text: 'Hello, 世界' }, { text: '=?base64?SGVsbG8sIOS4lueVjA==?=' }],
    [{ text: ' padded ' }, { text: '=?base64?IHBhZGRlZCA=?=' }],
    [{ text: 'line1\nline2' }, { text: '=?base64?bGluZTEKbGluZTI=?=' }],
    [{ text: '=?base64?literal?=' }, { text: '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=' }],
    [{ text: '' }, { text: '' }],
    [
      { deep: { count: -7 }, flag: false },
      { count: '-7', flag: 'false' },
    ],
    [
      { deep: { count: Number.MAX_SAFE_INTEGER }, flag: true },
      { count: '9007199254740991', flag: 'true' },
    ],
    [{ text: null, deep: null, flag: null }, {}],
    [{ other: 'x', deep: {} }, {}],
    [{}, {}],
  ])('%j are sent as %j', async (args, said) => {
    const { client, of } = await opened([tool(schema)]);
    await client.callTool('run', args);
    const [{ headers, body }] = of('tools/call') as [Asked];
    const own = Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-'));
    expect(Object.fromEntries(own.map(([name, value]) => [name.slice('mcp-param-'.length), value]))).toEqual(said);
    expect(body.params.arguments).toEqual(args);
  });

  test.each([2 ** 53, -(2 ** 53), 1e21])('no header can contain %d, and the call is not made', async (count) => {
    const { client, of } = await opened([tool(schema)]);
    await expect(client.callTool('run', { deep: { count } })).rejects.toMatchObject({
      code: -32602,
      message: `The argument deep.count goes into the header Mcp-Param-Count, but ${count} is not a safe integer`,
    });
    expect(of('tools/call')).toEqual([]);
  });
});

describe('a tool is refused if its x-mcp-header is', () => {
  const header = (name: unknown, type: unknown = 'string'): JsonObject => ({ type, 'x-mcp-header': name });
  const within = (keyword: string, value: unknown): JsonObject => tool({ a: { [keyword]: value } });

  test.each<[string, JsonObject]>([
    ['empty', tool({ a: header('') })],
    ['not a string', tool({ a: header(7) })],
    ['not a token, because of a space', tool({ a: header('My Region') })],
    ['not a token, because of a colon', tool({ a: header('Region:') })],
    ['not a token, because it is not ASCII', tool({ a: header('Größe') })],
    ['a carriage return and a line feed', tool({ a: header('A\r\nX-Evil') })],
    ['duplicate in another case', tool({ a: header('Region'), b: header('REGION') })],
    ['on a number', tool({ a: header('A', 'number') })],
    ['on an object', tool({ a: header('A', 'object') })],
    ['on a list', tool({ a: header('A', 'array') })],
    ['on a property of any type', tool({ a: { 'x-mcp-header': 'A' } })],
    ['on the items of a list', within('items', header('A'))],
    ['inside oneOf', within('oneOf', [header('A')])],
    ['inside anyOf', within('anyOf', [header('A')])],
    ['inside allOf', within('allOf', [header('A')])],
    ['inside not', within('not', header('A'))],
    ['inside if', within('if', header('A'))],
    ['inside then', within('then', header('A'))],
    ['behind a reference', tool({ a: { $ref: '#/$defs/a' } }, { $defs: { a: header('A') } })],
  ])('%s: it is omitted from the list with a reason, and cannot be called', async (_, bad) => {
    const good = { ...tool({ a: header('A') }), name: 'good' };
    const { client, errors, of } = await opened([bad, good]);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['good']);
    expect(errors).toEqual([expect.stringMatching(/^Tool run: x-mcp-header of .+; the tool is left out$/)]);
    await expect(client.callTool('run', { a: 'x' })).rejects.toMatchObject({ code: -32602 });
    await client.callTool('good', { a: 'x' });
    expect(of('tools/call').map(({ headers }) => headers['mcp-param-a'])).toEqual(['x']);
  });
});

test('header names of a server’s response are case-insensitive', async () => {
  const server = await scripted(({ body: { id, method } }, response) => {
    const result = { ...RESULT, contents: [{ uri: 'a:b', text: method }] };
    const answer = { jsonrpc: '2.0', id, result };
    if (method === 'server/discover') {
      response.writeHead(200, { 'CONTENT-TYPE': 'application/json' }).end(JSON.stringify(answer));
    } else response.writeHead(200, { 'cOnTeNt-TyPe': 'text/event-stream' }).end(event(answer));
  });
  const client = await connect(server.url, { eras: 'modern' });
  onTestFinished(() => client.close());
  expect(await client.readResource('a:b')).toMatchObject({ contents: [{ text: 'resources/read' }] });
});

test('a request of the server on the stream of a request is not answered', async () => {
  const server = await scripted(({ body: { id, method } }, response) => {
    if (method === 'server/discover') return json(response, { jsonrpc: '2.0', id, result: RESULT });
    const question = { jsonrpc: '2.0', id: 99, method: 'roots/list' };
    return void events(response, event(question), event({ jsonrpc: '2.0', id, result: { contents: [] } })).end();
  });
  const errors: string[] = [];
  const client = await connect(server.url, {
    onroots: () => [{ uri: 'file:///a' }],
    onerror: ({ message }) => void errors.push(message),
  });
  onTestFinished(() => client.close());
  await client.readResource('a:b');
  await client.ping();
  expect(server.asked.map(({ body }) => body.method)).toEqual(['server/discover', 'resources/read', 'server/discover']);
  expect(errors).toEqual([expect.stringContaining('roots/list')]);
});

test.each([
  [-32020, {}],
  [-32021, { requiredCapabilities: { sampling: {} } }],
  [-32022, { supported: ['2030-01-01'], requested: MODERN }],
])('the error %i with status 400 does not lead to a handshake', async (code, data) => {
  const server = await scripted(({ body }, response) =>
    json(response, { jsonrpc: '2.0', id: body.id, error: { code, message: 'no', data } }, 400),
  );
  await expect(connect(server.url)).rejects.toMatchObject({ code });
  expect(server.asked.map(({ body }) => body.method)).toEqual(['server/discover']);
});
