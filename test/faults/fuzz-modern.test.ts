// The correct answer depends on how the input is classified.
/* oxlint-disable vitest/no-conditional-expect */
import * as fc from 'fast-check';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { encodeHeaderValue } from '../../src/protocol/header-value.ts';
import { McpServer } from '../../src/server/index.ts';
import { UserError } from '../../src/server/user-error.ts';
import { createHttpHandler } from '../../src/transport/http/server/handler.ts';
import { nodeListener } from '../../src/transport/http/server/node.ts';
import { createInbound, type InboundOptions } from '../../src/wire/serve.ts';
import { ABLE, MODERN, meta, modernHeaders, modernRequest } from '../support/modern.ts';
import { POST_HEADERS } from '../support/http.ts';
import { unhandled } from '../support/service.ts';
import { expectAnswer, classify, seed, texts } from './malformed.ts';

type JsonObject = Record<string, any>;

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Milliseconds after which an answer counts as a hang. */
const HANG = 10_000;
const agent = new Agent({ keepAlive: true, maxSockets: 25 });

beforeAll(() => console.info(`Random inputs have seed ${seed}.`));
afterAll(() => agent.destroy());

function post(url: string, headers: Record<string, string>, body: Uint8Array | string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent, timeout: HANG };
    const length = { 'content-length': Buffer.byteLength(body) };
    const call = request(url, { ...options, headers: { ...POST_HEADERS, ...headers, ...length } });
    call.on('timeout', () => call.destroy(new Error(`no answer to ${Buffer.from(body).toString().slice(0, 2000)}`)));
    call.on('error', reject);
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      const { 'content-type': type = '' } = response.headers;
      response.on('end', () => resolve({ status: response.statusCode!, type, body: text }));
      response.on('error', reject);
    });
    call.end(body);
  });
}

/** A server with every kind of feature. */
async function fuzzed(options: InboundOptions = {}) {
  const errors: Error[] = [];
  const onerror = (error: Error): void => void errors.push(error);
  const server = new McpServer({ name: 'fuzzed', version: '1', onerror });
  const integer = { type: 'integer', 'x-mcp-header': 'A' } as const;
  const input = { type: 'object', properties: { a: integer, b: { type: 'integer' } }, required: ['a', 'b'] } as const;
  server.tool('add', { input }, ({ a, b }) => String(a + b));
  server.tool('fail', {}, () => Promise.reject(new UserError('as it should')));
  server.tool('ask', {}, async (_, ctx) => {
    await ctx.log('info', 'asks');
    const [roots, answer] = await Promise.all([
      ctx.roots(),
      ctx.elicit({ message: 'x', requestedSchema: { type: 'object', properties: { a: { type: 'string' } } } }),
    ]);
    return JSON.stringify([roots, answer]);
  });
  server.tool('count', {}, async (_, ctx) => {
    for (let step = 1; step <= 3; step += 1) await ctx.progress(step);
    return 'counted';
  });
  server.prompt('greet', { arguments: { name: { required: true, complete: ['Ada'] } } }, ({ name }) => name);
  server.resource('a://fixed', { name: 'fixed' }, () => 'text');
  server.resourceTemplate('a://item/{id}', { name: 'item', complete: { id: ['1'] } }, ({ id }) => id);
  const inbound = createInbound(server.service, { onerror, ...options });
  const { onsession, onrequest } = inbound;
  const handler = createHttpHandler({ onsession, onrequest, onerror, grace: 20 });
  const http = createServer(nodeListener(handler));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await inbound.close(0);
    await handler.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const good = async (): Promise<void> => {
    const message = modernRequest('good', 'tools/call', { name: 'add', arguments: { a: 1, b: 2 } });
    const headers = { ...modernHeaders(message), 'mcp-param-a': '1' };
    const { status, body } = await post(url, headers, JSON.stringify(message));
    expect([status, JSON.parse(body).result.content[0].text]).toEqual([200, '3']);
  };
  return { url, inbound, errors, good };
}

/** The messages of a response, whether it is JSON or a stream. */
function messagesOf({ type, body }: Reply): JsonObject[] {
  if (type !== 'text/event-stream') return [JSON.parse(body)];
  return body.split('\n').flatMap((line) => (/^data: ./.test(line) ? [JSON.parse(line.slice(6))] : []));
}

/** Expects exactly one response, as the last message, with the id of the request and the matching status. */
function expectResponse(reply: Reply, id: string | number): void {
  const messages = messagesOf(reply);
  messages.forEach(expectAnswerOrNotice);
  const responses = messages.filter((message) => !('method' in message));
  expect(responses).toEqual([messages.at(-1)]);
  // JSON loses the sign of negative zero.
  expect(responses[0]!['id']).toBe(id === 0 ? 0 : id);
  const { error, result } = responses[0]!;
  if (result) expect(result).toHaveProperty('resultType');
  if (reply.type === 'text/event-stream' || result) return expect(reply.status).toBe(200);
  const expected = { [-32601]: [404], [-32020]: [400], [-32021]: [400], [-32022]: [400] }[error.code as number];
  return expect(expected ?? [200, 400]).toContain(reply.status);
}

function expectAnswerOrNotice(message: JsonObject): void {
  if (!('method' in message)) return expectAnswer(message);
  expect(message).toMatchObject({ jsonrpc: '2.0', method: expect.stringMatching(/^notifications\//) });
  return expect(message).not.toHaveProperty('id');
}

const json = fc.jsonValue({ maxDepth: 3 });
/** Mostly valid. */
const rather = <T>(right: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: json });
const some = <T>(right: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(right, { nil: undefined, freq: 3 });

const response = fc.oneof(
  fc.record({ action: fc.constantFrom('accept', 'decline', 'cancel', 'x'), content: some(json) }),
  fc.record({ roots: rather(fc.constant([])) }),
  json,
);
const inputResponses = fc.dictionary(
  fc.constantFrom('roots-1', 'elicitation-1', 'elicitation-2', '__proto__', 'constructor', 'toString', ''),
  response,
);
const requestMeta = fc.record({
  'io.modelcontextprotocol/protocolVersion': fc.oneof({ weight: 15, arbitrary: fc.constant(MODERN) }, json),
  'io.modelcontextprotocol/clientInfo': some(rather(fc.constant({ name: 'fuzz', version: '1' }))),
  'io.modelcontextprotocol/clientCapabilities': rather(fc.constantFrom(ABLE, {}, { elicitation: {} })),
  'io.modelcontextprotocol/logLevel': some(fc.oneof(fc.constantFrom('debug', 'error', 'loud'), json)),
  progressToken: some(fc.oneof(fc.string(), fc.integer(), json)),
});
const requestParams = fc.record({
  name: some(rather(fc.constantFrom('add', 'fail', 'ask', 'ask', 'ask', 'count', 'greet', '__proto__', 'größe', ' '))),
  arguments: some(fc.oneof(fc.record({ a: json, b: json, name: json }, { requiredKeys: [] }), json)),
  uri: some(rather(fc.constantFrom('a://fixed', 'a://item/1', 'a://item/%', 'http://['))),
  cursor: some(json),
  ref: some(rather(fc.record({ type: fc.constantFrom('ref/prompt', 'ref/resource'), name: json, uri: json }))),
  argument: some(rather(fc.record({ name: json, value: json }))),
  notifications: fc.constantFrom(undefined, 5, null, []),
  requestState: some(fc.oneof(fc.string(), fc.constantFrom('ew1.', 'ew1.AAAA', `ew1.${'A'.repeat(200)}`), json)),
  inputResponses: some(rather(inputResponses)),
  _meta: rather(requestMeta),
});
const requests = fc.record({
  jsonrpc: fc.constant('2.0' as const),
  id: fc.oneof(fc.string(), fc.maxSafeInteger()),
  method: fc.constantFrom(
    'tools/call',
    'tools/call',
    'tools/call',
    'tools/list',
    'prompts/get',
    'prompts/list',
    'resources/read',
    'resources/list',
    'resources/templates/list',
    'completion/complete',
    'server/discover',
    'subscriptions/listen',
    'tasks/get',
    'ping',
    'initialize',
    'logging/setLevel',
    'notifications/cancelled',
    '__proto__',
    '',
  ),
  params: rather(requestParams),
});

/** Headers that mostly match the message. */
const headersOf = (message: JsonObject) =>
  fc.record({
    'mcp-protocol-version': fc.oneof({ weight: 20, arbitrary: fc.constant(MODERN) }, fc.constant('2099-01-01')),
    'mcp-method': fc.oneof(
      { weight: 20, arbitrary: fc.constant(headerSafe(message['method'])) },
      fc.constantFrom('tools/list', '', '=?base64?dG9vbHMvbGlzdA==?='),
    ),
    'mcp-name': fc.oneof(
      { weight: 20, arbitrary: fc.constant(headerSafe(message['params']?.name ?? message['params']?.uri)) },
      fc.constantFrom('add', '', '=?base64?@?=', '=?base64??='),
    ),
    'mcp-param-a': fc.constantFrom('1', '', '1.0', '=?base64?MQ==?='),
    'mcp-session-id': fc.constantFrom('x', ''),
    'last-event-id': fc.constantFrom('1', ''),
  });

function headerSafe(value: unknown): string {
  return typeof value === 'string' ? encodeHeaderValue(value) : '';
}

test('5,000 bodies of all kinds are answered correctly', async () => {
  const failures = unhandled();
  const { url, inbound, good } = await fuzzed();
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call' };
  const property = fc.asyncProperty(fc.array(texts, { minLength: 20, maxLength: 20 }), async (bodies) => {
    await Promise.all(
      bodies.map(async (body) => {
        const classified = classify(body);
        const reply = await post(url, headers, body);
        if (classified.kind === 'request') return expectResponse(reply, classified.id);
        if (classified.kind === 'notification') return expect([202, 400]).toContain(reply.status);
        expect(reply.status).toBe(400);
        const [answer] = messagesOf(reply);
        expectAnswer(answer!);
        const code = { 'parse error': -32700, invalid: -32600, response: -32000 }[classified.kind];
        return expect(answer).toMatchObject({ error: { code } });
      }),
    );
  });
  await fc.assert(property, { numRuns: 250, seed, endOnFailure: true });
  await good();
  expect(inbound.suspended).toBe(0);
  expect(await failures()).toEqual([]);
});

test('5,000 almost valid requests get one response each, with their id', async () => {
  const failures = unhandled();
  // Headers of sessions have no meaning in 2026-07-28.
  const { url, inbound, good } = await fuzzed({ eras: 'modern' });
  const both = requests.chain((message) => fc.tuple(fc.constant(message), headersOf(message)));
  const property = fc.asyncProperty(fc.array(both, { minLength: 20, maxLength: 20 }), async (given) => {
    await Promise.all(
      given.map(async ([message, headers]) => {
        const reply = await post(url, headers, JSON.stringify(message));
        if (classify(Buffer.from(JSON.stringify(message))).kind === 'invalid') return expect(reply.status).toBe(400);
        return expectResponse(reply, message.id);
      }),
    );
  });
  await fc.assert(property, { numRuns: 250, seed, endOnFailure: true });
  await good();
  expect(inbound.suspended).toBeLessThanOrEqual(1000);
  expect(await failures()).toEqual([]);
});

test('1,000 retries with random answers get one response each, and do not affect each other', async () => {
  const failures = unhandled();
  const { url, inbound, good } = await fuzzed();
  const say = async (params: JsonObject): Promise<JsonObject> => {
    const message = modernRequest('again', 'tools/call', { name: 'ask', ...params, _meta: meta(ABLE) }, ABLE);
    const reply = await post(url, modernHeaders(message), JSON.stringify(message));
    expectResponse(reply, 'again');
    return messagesOf(reply).at(-1)!;
  };
  const property = fc.asyncProperty(fc.array(inputResponses, { minLength: 10, maxLength: 10 }), async (all) => {
    await Promise.all(
      all.map(async (given) => {
        const { result } = await say({});
        const keys = Object.keys(result.inputRequests);
        const second = await say({ requestState: result.requestState, inputResponses: given });
        const refused = second['error'] !== undefined;
        // If the answer was refused, the call still waits in the first round. Otherwise it waits in the next one, or is over.
        const state = refused ? result.requestState : second['result'].requestState;
        if (state === undefined) return;
        const rest = Object.fromEntries(
          keys.map((key) => [key, key.startsWith('roots') ? { roots: [] } : { action: 'decline' }]),
        );
        const last = await say({ requestState: state, inputResponses: rest });
        expect(last['result']).toMatchObject({ resultType: 'complete' });
      }),
    );
  });
  await fc.assert(property, { numRuns: 100, seed, endOnFailure: true });
  await good();
  expect(inbound.suspended).toBe(0);
  expect(await failures()).toEqual([]);
});
