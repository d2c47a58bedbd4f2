import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import type { Service } from '../../src/core/exchange.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { ask, fleetOf, toolServer } from '../support/fleet.ts';
import { calling, everything, type Calling } from '../support/legacy-server.ts';
import { meta, ModernHttp } from '../support/modern.ts';
import { scripted } from '../support/service.ts';
import { opened, served } from '../support/wire.ts';

/** A name of a mebibyte. */
const LONG = 'n'.repeat(1024 * 1024);
/** The longest text of an error. */
const MOST = 1000;

/** A server with one of each, whose errors are collected. */
function server(errors: Error[] = []): McpServer {
  const made = new McpServer({ name: 'names', version: '1', onerror: (error) => void errors.push(error) });
  made.tool('a', { input: { type: 'object', additionalProperties: false } }, () => 'a');
  made.prompt('p', { arguments: { x: { complete: () => [] } } }, () => 'p');
  made.resource('notes://a', { name: 'n' }, () => 'n');
  return made;
}

function expectShort(texts: readonly string[]): void {
  expect(texts).not.toEqual([]);
  for (const text of texts) {
    expect(text.length, text.slice(0, MOST)).toBeLessThan(MOST);
    expect(text).toMatch(/… \(1[\d]{6} characters\)/);
  }
}

const REQUESTS: readonly (readonly [string, JsonObject])[] = [
  [LONG, {}],
  [`notifications/${LONG}`, {}],
  ['tools/call', { name: LONG }],
  ['tools/call', { name: 'a', arguments: { [LONG]: 1 } }],
  ['prompts/get', { name: LONG }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: LONG }, argument: { name: 'x', value: '' } }],
];
/** With a name for the test, because those of the requests are too long. */
function named([method, params]: readonly [string, JsonObject]) {
  return { what: `${method.slice(0, 30)} ${JSON.stringify(params).slice(0, 50)}`, method, params };
}

describe('a server that gets a name of a mebibyte does not repeat it in', () => {
  test.each(
    [
      ...REQUESTS,
      ['tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': LONG } }] as const,
      ['tools/list', { _meta: meta({}, { 'io.modelcontextprotocol/logLevel': LONG }) }] as const,
    ].map(named),
  )('the answer to $what in 2026-07-28', async ({ method, params }) => {
    const http = new ModernHttp(server().service);
    const version = params['_meta']?.['io.modelcontextprotocol/protocolVersion'] === LONG ? LONG : undefined;
    const headers = version === undefined ? {} : { 'mcp-protocol-version': version };
    const { body } = await http.json(method, params, { headers });
    expectShort([body.error?.message ?? body.result.content[0].text]);
  });

  test.each(['mcp-method', 'mcp-name', 'mcp-protocol-version', 'host', 'origin'])(
    'the answer to a request with a wrong header %s',
    async (name) => {
      const value = name === 'host' ? `${LONG}.example` : LONG;
      const { body } = await new ModernHttp(server().service).json(
        'tools/call',
        { name: 'a' },
        { headers: { [name]: value } },
      );
      expectShort([body.error.message]);
    },
  );

  test.each([...REQUESTS, ['logging/setLevel', { level: LONG }] as const].map(named))(
    'the answer to $what in 2025-11-25',
    async ({ method, params }) => {
      const { client } = await opened(server().service);
      void client.transport.send({ jsonrpc: '2.0', id: 'a', method, params });
      const answer: any = await vi.waitUntil(
        () => client.inbox.find((each) => 'id' in each && each.id === 'a'),
        30_000,
      );
      expectShort([answer.error?.message ?? answer.result.content[0].text]);
    },
  );

  test('what it reports about messages that it ignores', async () => {
    const { client, errors } = await served(server().service);
    await client.send({ method: `notifications/${LONG}` });
    await client.request('init', 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'n', version: '1' },
    });
    await client.send({ method: 'notifications/initialized' }, { method: LONG }, { id: LONG, result: {} });
    expect(errors).toHaveLength(3);
    expectShort(errors.map(({ message }) => message));
  });

  test('the answer to a second request with the same id', async () => {
    const { client } = await opened(scripted({ 'tools/list': () => new Promise(() => {}) }).service);
    await client.send({ id: LONG, method: 'tools/list' }, { id: LONG, method: 'tools/list' });
    expectShort(client.take().map((message: any) => message.error.message));
  });
});

describe('a client whose server sends a name of a mebibyte does not repeat it in', () => {
  async function failed(call: (calling: Calling) => Promise<unknown>, ...results: JsonObject[]): Promise<string> {
    const all = await calling({ eras: 'legacy' }, { ...everything });
    const error = call(all).then(
      () => 'no error',
      ({ message }: Error) => message,
    );
    for (const result of results) await all.server.answer(result);
    return error;
  }

  test('the error of a result of an unknown type', async () => {
    // Only 2026-07-28 has types of results.
    const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    const service: Service = async ({ method }) => (method === 'tools/call' ? { resultType: LONG } : discovered);
    const client = await connect({ service }, { eras: 'modern' });
    onTestFinished(() => client.close());
    expectShort([await client.callTool('a').then(String, ({ message }: Error) => message)]);
  });

  test('the errors of results that do not match their schemas', async () => {
    const outputSchema = { type: 'object', required: [LONG] };
    const list = { tools: [{ name: LONG, inputSchema: { type: 'object' }, outputSchema }] };
    const call = async ({ client }: Calling): Promise<unknown> => {
      await client.listTools();
      return client.callTool(LONG);
    };
    expectShort([
      await failed(call, list, { content: [] }),
      await failed(call, list, { content: [], structuredContent: {} }),
    ]);
  });

  test('the answer to a question, or what it reports', async () => {
    const { client, server: far, errors } = await calling();
    const call = client.callTool('slow').catch(() => {});
    await far.heard();
    await far.send({ id: 'q', method: LONG }, { id: LONG, result: {} });
    await far.send({ method: 'notifications/progress', params: { progressToken: LONG, progress: 1 } });
    const answer: any = await far.heard();
    expectShort([answer.error.message, ...errors.map(({ message }) => message)]);
    expect(errors.length).toBeGreaterThanOrEqual(2);
    await client.close();
    await call;
  });
});

describe('a fleet does not repeat a name of a mebibyte in the answer to', () => {
  const requests: readonly (readonly [string, JsonObject])[] = [
    ['tools/call', { name: LONG }],
    ['resources/read', { uri: `everwire+none:${LONG}` }],
    ['tasks/get', { taskId: LONG }],
    [LONG, {}],
  ];
  test.each(requests.map(named))('$what', async ({ method, params }) => {
    // A server that does not know a method says so itself.
    const servers: Parameters<typeof fleetOf>[0] =
      method === LONG ? {} : { notes: toolServer('notes', ['a']), other: toolServer('other', ['b']) };
    const { fleet } = fleetOf(servers);
    onTestFinished(() => fleet.close());
    const error: Error = await ask(fleet, method, params).then(
      () => new Error('no error'),
      (thrown: Error) => thrown,
    );
    expectShort([error.message]);
  });
});
