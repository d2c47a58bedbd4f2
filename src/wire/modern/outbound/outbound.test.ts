import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange, type TestExchangeOptions } from '../../../../test/support/exchange.ts';
import { aborted, deferred, scripted, settled } from '../../../../test/support/service.ts';
import { Peer } from '../../../../test/support/wire.ts';
import { completeRounds } from '../../../core/rounds.ts';
import type { Service } from '../../../core/exchange.ts';
import { RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject, Response } from '../../../jsonrpc/message.ts';
import type { CarriedRequest, Carrier } from '../../../transport/carrier.ts';
import { memoryTransportPair } from '../../../transport/memory.ts';
import { createInbound, type InboundOptions } from '../../serve.ts';
import type { Upstream } from '../../upstream.ts';
import { connectModern, type ModernOutboundOptions } from './outbound.ts';
import { TransportCarrier } from './transport-carrier.ts';

const clientInfo = { name: 'us', version: '1' };
const MODERN = '2026-07-28';
const PROGRESS = 'notifications/progress';
const LOG = 'notifications/message';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const TOOLS_CHANGED = 'notifications/tools/list_changed';

const described = { supportedVersions: [MODERN], capabilities: { tools: {}, logging: {} } };
const exchangeFor = (method: string, params?: JsonObject, options?: TestExchangeOptions): TestExchange =>
  new TestExchange(method, params, { ...options, caller: { revision: MODERN, ...options?.caller } });

/** Connects to one of our own servers in memory. */
async function connected(
  service: Service,
  options: Partial<ModernOutboundOptions> & { server?: InboundOptions } = {},
): Promise<{ upstream: Upstream; errors: Error[] }> {
  const { server, ...rest } = options;
  const errors: Error[] = [];
  const onerror = (error: Error): void => void errors.push(error);
  const [near, far] = memoryTransportPair();
  const inbound = createInbound(service, { onerror, ...server });
  await inbound.connect(far);
  const carrier = new TransportCarrier(near, { onerror });
  await carrier.start();
  const upstream = await connectModern(carrier, { clientInfo, onerror, ...rest });
  onTestFinished(async () => {
    await upstream.close();
    await inbound.close(0);
  });
  return { upstream, errors };
}

interface Wire {
  server: Peer;
  upstream: Promise<Upstream>;
  errors: Error[];
}

/** Starts to connect to a server that the test plays. */
async function connecting(options: Partial<ModernOutboundOptions> = {}): Promise<Wire> {
  const [near, far] = memoryTransportPair();
  const server = new Peer(far);
  await far.start();
  const errors: Error[] = [];
  const onerror = (error: Error): void => void errors.push(error);
  const carrier = new TransportCarrier(near, { onerror });
  await carrier.start();
  const upstream = connectModern(carrier, { clientInfo, onerror, ...options });
  upstream.catch(() => {});
  await settled();
  return { server, upstream, errors };
}

async function opened(
  options?: Partial<ModernOutboundOptions>,
): Promise<Omit<Wire, 'upstream'> & { upstream: Upstream }> {
  const wire = await connecting(options);
  await wire.server.send({ id: wire.server.next().id, result: described });
  return { ...wire, upstream: await wire.upstream };
}

/** A server behind a carrier that records its requests. */
class TestCarrier implements Carrier {
  readonly mirrorsHeaders = true;
  onclose: Carrier['onclose'];
  closed = false;
  readonly requests: CarriedRequest[] = [];
  readonly #answers: Record<string, (request: CarriedRequest, nth: number) => JsonObject | Promise<JsonObject>>;

  constructor(answers: Record<string, (request: CarriedRequest, nth: number) => JsonObject | Promise<JsonObject>>) {
    this.#answers = { 'server/discover': () => described, ...answers };
  }

  of(method: string): CarriedRequest[] {
    return this.requests.filter((request) => request.method === method);
  }

  async request(request: CarriedRequest): Promise<Response> {
    this.requests.push(request);
    try {
      const result = await this.#answers[request.method]!(request, this.of(request.method).length);
      return { jsonrpc: '2.0', id: 1, result };
    } catch (error) {
      if (!(error instanceof RpcError) || request.lifetime.ended) throw error;
      return { jsonrpc: '2.0', id: 1, error: error.toObject() };
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.onclose?.();
  }
}

describe('the first request', () => {
  test('requests the server’s identity, with the client’s own', async () => {
    const { server, upstream } = await connecting({ capabilities: { roots: {} } });
    const discover = server.next();
    expect(discover).toEqual({
      jsonrpc: '2.0',
      id: discover.id,
      method: 'server/discover',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': MODERN,
          'io.modelcontextprotocol/clientInfo': clientInfo,
          'io.modelcontextprotocol/clientCapabilities': { roots: {} },
        },
      },
    });
    await server.send({ id: discover.id, result: described });
    expect(await upstream).toMatchObject({ revision: MODERN, discovered: described, closed: false });
  });

  test.each<[string, JsonObject, number, string]>([
    [
      'has no revision in common',
      { result: { ...described, supportedVersions: ['2030-01-01'] } },
      -32022,
      '2030-01-01',
    ],
    [
      'refuses the revision',
      { error: { code: -32022, message: 'no', data: { supported: ['2030-01-01'], requested: MODERN } } },
      -32022,
      'The server speaks 2030-01-01, but this client speaks 2026-07-28',
    ],
    ['requires more capabilities', { error: { code: -32021, message: 'needs sampling' } }, -32021, 'needs sampling'],
    [
      'does not know the method',
      { error: { code: -32601, message: 'what?' } },
      -32601,
      'does not speak 2026-07-28: what?',
    ],
    ['sends an invalid result', { result: { tools: [] } }, -32603, 'response to server/discover is invalid'],
  ])('fails if the server %s, and closes the connection', async (_, answer, code, message) => {
    const { server, upstream } = await connecting();
    await server.send({ id: server.next().id, ...answer });
    await expect(upstream).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    expect(server.closed).toBe(true);
  });

  test('is sent again if the server refuses a revision that it supports', async () => {
    const contrary = { error: { code: -32022, message: 'contrary', data: { supported: [MODERN] } } };
    const once = await connecting();
    await once.server.send({ id: once.server.next().id, ...contrary });
    await once.server.send({ id: once.server.next().id, result: described });
    expect(await once.upstream).toMatchObject({ revision: MODERN });
    const twice = await connecting();
    for (let n = 0; n < 2; n += 1) await twice.server.send({ id: twice.server.next().id, ...contrary });
    await expect(twice.upstream).rejects.toMatchObject({ code: -32022, message: 'contrary' });
    expect(twice.server.take()).toEqual([]);
  });

  test('fails after a timeout without an answer', async () => {
    const { server, upstream } = await connecting({ handshakeTimeout: 5 });
    await expect(upstream).rejects.toMatchObject({ code: -32001, message: expect.stringContaining('within 5 ms') });
    // A server of another era would not understand a cancellation.
    expect(server.take().map((message: any) => message.method)).toEqual(['server/discover']);
  });
});

describe('a request', () => {
  test('has the client’s own identity, without that of its caller', async () => {
    const { server, upstream } = await opened();
    const params = {
      name: 't',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2099-01-01',
        'io.modelcontextprotocol/clientInfo': { name: 'caller', version: '9' },
        'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
        'io.modelcontextprotocol/logLevel': 'debug',
        'io.modelcontextprotocol/subscriptionId': 7,
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01',
        'com.example/own': true,
      },
    };
    const answer = upstream.service(
      exchangeFor('tools/call', params, { caller: { capabilities: { elicitation: {} }, logLevel: 'error' } }),
    );
    await settled();
    const request = server.next();
    expect(request.params).toEqual({
      name: 't',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': MODERN,
        'io.modelcontextprotocol/clientInfo': clientInfo,
        'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
        'io.modelcontextprotocol/logLevel': 'error',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01',
        'com.example/own': true,
      },
    });
    await server.send({ id: request.id, result: { content: [] } });
    // Absent means complete.
    expect(await answer).toEqual({ content: [] });
  });

  test('requests all log messages for a caller whose revision has them by default', async () => {
    const { server, upstream } = await opened();
    const exchange = exchangeFor('tools/call', { name: 't' }, { caller: { revision: '2025-11-25' } });
    const answer = upstream.service(exchange);
    await settled();
    const { id, params } = server.next();
    expect(params['_meta']['io.modelcontextprotocol/logLevel']).toBe('debug');
    await server.send({ method: LOG, params: { level: 'debug', data: 1 } }, { id, result: {} });
    await answer;
    expect(exchange.notified).toEqual([{ method: LOG, params: { level: 'debug', data: 1 } }]);
  });

  test('fails with the error of the server', async () => {
    const { service } = scripted({
      fail: () => {
        throw new RpcError(-32602, 'not so', { data: { why: 1 } });
      },
    });
    const { upstream } = await connected(service);
    await expect(upstream.service(exchangeFor('fail'))).rejects.toMatchObject({
      code: -32602,
      message: 'not so',
      data: { why: 1 },
    });
    await expect(upstream.service(exchangeFor('nothing'))).rejects.toMatchObject({ code: -32601 });
  });

  test.each<[string, string, JsonObject, string]>([
    ['of an unknown type', 'tools/call', { resultType: 'surprise' }, 'of type "surprise"'],
    ['of a type that is not a string', 'tools/call', { resultType: 5 }, 'of type 5'],
    ['that is a task, without the extension', 'tools/call', { resultType: 'task', task: {} }, 'of type "task"'],
    [
      'that asks for input if the method does not allow it',
      'tools/list',
      { resultType: 'input_required', requestState: 's' },
      'does not allow',
    ],
    [
      'that asks for input without questions',
      'tools/call',
      { resultType: 'input_required' },
      'without "inputRequests" or "requestState"',
    ],
    [
      'with a state that is not a string',
      'tools/call',
      { resultType: 'input_required', requestState: {} },
      'not a string',
    ],
    [
      'with questions that are not an object',
      'prompts/get',
      { resultType: 'input_required', inputRequests: [] },
      'not an object',
    ],
    [
      'with a question that is not a request',
      'resources/read',
      { resultType: 'input_required', inputRequests: { a: {} } },
      '"a" with',
    ],
  ])('fails if the server returns a result %s', async (_, method, result, message) => {
    const { server, upstream } = await opened();
    const answer = upstream.service(exchangeFor(method, { name: 't', uri: 'u:' }));
    answer.catch(() => {});
    await settled();
    await server.send({ id: server.next().id, result });
    await expect(answer).rejects.toMatchObject({ code: -32603, message: expect.stringContaining(message) });
  });

  test('may be answered with a task if the extension is declared', async () => {
    const { server, upstream } = await opened({
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    });
    const answer = upstream.service(exchangeFor('tools/call', { name: 't' }));
    await settled();
    await server.send({ id: server.next().id, result: { resultType: 'task', taskId: 'x' } });
    expect(await answer).toEqual({ resultType: 'task', taskId: 'x' });
  });

  test('with an input_required result is passed on, and its retry has the same state and another id', async () => {
    const { server, upstream } = await opened();
    const exchange = exchangeFor('tools/call', { name: 't' }, { onask: () => ({ action: 'decline' }) });
    const state = '{"b":1, "a": "\u00e9"}  ';
    const complete = (async () => completeRounds(upstream.service, exchange, await upstream.service(exchange)))();
    await settled();
    const first = server.next();
    const inputRequests = { k: { method: 'elicitation/create', params: { message: 'Name?' } } };
    await server.send({ id: first.id, result: { resultType: 'input_required', inputRequests, requestState: state } });
    const second = server.next();
    expect(second.id).not.toBe(first.id);
    expect(second.params).toMatchObject({
      name: 't',
      requestState: state,
      inputResponses: { k: { action: 'decline' } },
    });
    await server.send({ id: second.id, result: { content: [] } });
    expect(await complete).toEqual({ content: [] });
  });

  test('can be asked by an Everwire server while it runs', async () => {
    const service: Service = async (exchange) => {
      if (exchange.method === 'server/discover') return described;
      const { content } = await exchange.ask('elicitation/create', { message: 'Name?', requestedSchema: {} });
      return { content: [{ type: 'text', text: content['name'] }] };
    };
    const { upstream } = await connected(service);
    const exchange = exchangeFor(
      'tools/call',
      { name: 't' },
      { caller: { capabilities: { elicitation: {} } }, onask: () => ({ action: 'accept', content: { name: 'Ada' } }) },
    );
    const result = await completeRounds(upstream.service, exchange, await upstream.service(exchange));
    expect(result['content']).toEqual([{ type: 'text', text: 'Ada' }]);
  });

  test('gets its own progress, with the token of its caller', async () => {
    const { server, upstream, errors } = await opened();
    const [a, b] = [0, 1].map(() => exchangeFor('tools/call', { name: 't', _meta: { progressToken: 'mine' } }));
    const answers = [upstream.service(a!), upstream.service(b!)];
    await settled();
    const [first, second] = [server.next(), server.next()];
    const [one, two] = [first, second].map(({ params }) => params['_meta']['progressToken']);
    expect(one).not.toEqual(two);
    await server.send({ method: PROGRESS, params: { progressToken: two, progress: 2 } });
    await server.send({ method: PROGRESS, params: { progressToken: one, progress: 1 } });
    await server.send({ method: PROGRESS, params: { progressToken: 'mine', progress: 3 } });
    await server.send({ id: first.id, result: {} }, { id: second.id, result: {} });
    await Promise.all(answers);
    expect(a!.notified).toEqual([{ method: PROGRESS, params: { progressToken: 'mine', progress: 1 } }]);
    expect(b!.notified).toEqual([{ method: PROGRESS, params: { progressToken: 'mine', progress: 2 } }]);
    expect(errors.map(({ message }) => message)).toEqual([
      'notifications/progress was ignored: it belongs to no request in flight',
    ]);
  });

  test('does not get the progress of another request, on any stream', async () => {
    const errors: Error[] = [];
    const carrier = new TestCarrier({
      'prompts/get': ({ params, onnotification }) => {
        const { progressToken } = params['_meta'];
        for (const token of ['of another', progressToken]) {
          onnotification({ jsonrpc: '2.0', method: PROGRESS, params: { progressToken: token, progress: 1 } });
        }
        return {};
      },
    });
    const { service } = await connectModern(carrier, { clientInfo, onerror: (error) => void errors.push(error) });
    const exchange = exchangeFor('prompts/get', { name: 'p', _meta: { progressToken: 'mine' } });
    await service(exchange);
    expect(exchange.notified).toEqual([{ method: PROGRESS, params: { progressToken: 'mine', progress: 1 } }]);
    expect(errors).toHaveLength(1);
  });

  test.each(['tools/call', 'prompts/get'])('that is already cancelled is not sent: %s', async (method) => {
    const carrier = new TestCarrier({ 'tools/list': () => ({ tools: [] }), [method]: () => ({}) });
    const { service } = await connectModern(carrier, { clientInfo });
    const exchange = exchangeFor(method, { name: 'a' });
    exchange.abort();
    await expect(service(exchange)).rejects.toThrow('aborted');
    expect(carrier.requests.map((request) => request.method)).toEqual(['server/discover']);
  });

  test('with the server’s identity in its result updates the identity', async () => {
    const carrier = new TestCarrier({
      'server/discover': (_, nth) => (nth === 1 ? described : { ...described, instructions: 'Read.' }),
    });
    const upstream = await connectModern(carrier, { clientInfo });
    expect(upstream.discovered.instructions).toBeUndefined();
    await upstream.service(exchangeFor('server/discover'));
    expect(upstream.discovered.instructions).toBe('Read.');
  });

  test('is cancelled with its exchange, and leaves no listener behind', async () => {
    const gone = deferred();
    const { service } = scripted({
      wait: async ({ signal }) => {
        await aborted(signal);
        gone.resolve();
        return {};
      },
    });
    const { upstream } = await connected(service);
    const exchange = exchangeFor('wait');
    const added = vi.spyOn(exchange.signal, 'addEventListener');
    const removed = vi.spyOn(exchange.signal, 'removeEventListener');
    const answer = upstream.service(exchange);
    answer.catch(() => {});
    await settled();
    exchange.abort();
    await expect(answer).rejects.toThrow('aborted');
    await gone.promise;
    expect(removed.mock.calls.length).toBe(added.mock.calls.length);
    await expect(upstream.service(exchange)).rejects.toThrow('aborted');
  });

  test('leaves nothing in memory, even after many requests', async () => {
    const { upstream } = await connected(scripted().service);
    const exchange = exchangeFor('echo', { _meta: { progressToken: 1 } });
    for (let n = 0; n < 1000; n += 1) await upstream.service(exchange);
    expect(getEventListeners(exchange.signal, 'abort')).toEqual([]);
  });

  test('fails when the connection is closed', async () => {
    const { server, upstream } = await opened();
    const onclose = vi.fn<() => void>();
    upstream.onclose = onclose;
    const answer = upstream.service(exchangeFor('wait'));
    answer.catch(() => {});
    await settled();
    await server.transport.close();
    await expect(answer).rejects.toMatchObject({ code: -32000, message: 'Connection closed' });
    expect(onclose).toHaveBeenCalledOnce();
    expect(upstream.closed).toBe(true);
    await expect(upstream.service(exchangeFor('wait'))).rejects.toMatchObject({ code: -32000 });
  });
});

describe('the timeout of a request', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('starts again with each progress, up to the maximum', async () => {
    const { server, upstream } = await opened({ timeout: 1000, maxTimeout: 2500 });
    const answer = upstream.service(exchangeFor('tools/call', { name: 't', _meta: { progressToken: 1 } }));
    answer.catch(() => {});
    await settled();
    const { id, params } = server.next();
    for (const progress of [1, 2]) {
      await vi.advanceTimersByTimeAsync(900);
      await server.send({ method: PROGRESS, params: { progressToken: params['_meta'].progressToken, progress } });
    }
    expect(server.take()).toEqual([]);
    await vi.advanceTimersByTimeAsync(700);
    await expect(answer).rejects.toMatchObject({ code: -32001, message: expect.stringContaining('within 2500 ms') });
    expect(server.next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is reached if there is no progress', async () => {
    const { upstream } = await opened({ timeout: 1000 });
    const answer = upstream.service(exchangeFor('tools/list'));
    answer.catch(() => {});
    await vi.advanceTimersByTimeAsync(1000);
    await expect(answer).rejects.toMatchObject({ code: -32001, message: expect.stringContaining('within 1000 ms') });
  });

  test('has no timer after the response', async () => {
    const { upstream } = await connected(scripted().service);
    for (let n = 0; n < 10; n += 1) await upstream.service(exchangeFor('echo', { n }));
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('notifications of callers', () => {
  test('that exist only in older revisions are dropped, and others are refused', async () => {
    const { server, upstream } = await opened();
    expect(await upstream.service(exchangeFor('notifications/roots/list_changed'))).toEqual({});
    await expect(upstream.service(exchangeFor('notifications/own'))).rejects.toMatchObject({ code: -32601 });
    expect(server.take()).toEqual([]);
  });
});

describe('headers of a request', () => {
  const schema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      deep: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
      flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
    },
  };
  const list = (...tools: [string, JsonObject][]) => ({
    tools: tools.map(([name, inputSchema]) => ({ name, inputSchema })),
  });
  const over = (carrier: TestCarrier, onerror?: (error: Error) => void) =>
    connectModern(carrier, { clientInfo, onerror });

  test('contain the revision, the method and the name', async () => {
    const carrier = new TestCarrier({
      'resources/read': () => ({}),
      'prompts/get': () => ({}),
      'tasks/get': () => ({}),
    });
    const { service } = await over(carrier);
    await service(exchangeFor('resources/read', { uri: 'file:///a b' }));
    await service(exchangeFor('prompts/get', { name: 'é' }));
    await service(exchangeFor('tasks/get', { taskId: 't1' }));
    expect(carrier.requests.map(({ headers }) => headers)).toEqual([
      { 'mcp-protocol-version': MODERN, 'mcp-method': 'server/discover' },
      { 'mcp-protocol-version': MODERN, 'mcp-method': 'resources/read', 'mcp-name': 'file:///a b' },
      { 'mcp-protocol-version': MODERN, 'mcp-method': 'prompts/get', 'mcp-name': '=?base64?w6k=?=' },
      { 'mcp-protocol-version': MODERN, 'mcp-method': 'tasks/get', 'mcp-name': 't1' },
    ]);
  });

  test("contain the arguments that the tool's schema names, and the list is read once, page by page", async () => {
    const carrier = new TestCarrier({
      'tools/list': ({ params }) =>
        params['cursor'] === 'next' ? list(['t', schema]) : { ...list(['other', {}]), nextCursor: 'next' },
      'tools/call': () => ({}),
    });
    const { service } = await over(carrier);
    const call = (args: JsonObject) => service(exchangeFor('tools/call', { name: 't', arguments: args }));
    await Promise.all([call({ region: ' eu ', deep: { n: 42 }, flag: false }), call({ region: null, deep: {} })]);
    await call({ region: '' });
    expect(carrier.of('tools/list')).toHaveLength(2);
    const own = (headers: CarriedRequest['headers']) =>
      Object.fromEntries(Object.entries(headers!).filter(([name]) => name.startsWith('mcp-param-')));
    expect(carrier.of('tools/call').map(({ headers }) => own(headers))).toEqual([
      { 'mcp-param-region': '=?base64?IGV1IA==?=', 'mcp-param-n': '42', 'mcp-param-flag': 'false' },
      {},
      { 'mcp-param-region': '' },
    ]);
  });

  test('are built again from a new list if they were refused, once', async () => {
    const mismatch = (): never => {
      throw new RpcError(-32020, 'Header mismatch: Mcp-Param-Region is missing');
    };
    const carrier = new TestCarrier({
      'tools/list': (_, nth) => list(['t', nth === 1 ? { type: 'object' } : schema]),
      'tools/call': ({ headers, params }) => {
        if (params['arguments'].region === 'nowhere') return mismatch();
        return headers!['mcp-param-region'] === 'eu' ? { content: [] } : mismatch();
      },
    });
    const { service } = await over(carrier);
    expect(await service(exchangeFor('tools/call', { name: 't', arguments: { region: 'eu' } }))).toEqual({
      content: [],
    });
    expect([carrier.of('tools/list').length, carrier.of('tools/call').length]).toEqual([2, 2]);
    const refused = service(exchangeFor('tools/call', { name: 't', arguments: { region: 'nowhere' } }));
    await expect(refused).rejects.toMatchObject({ code: -32020 });
    expect([carrier.of('tools/list').length, carrier.of('tools/call').length]).toEqual([3, 4]);
  });

  test('are omitted if they were refused and the list no longer has the tool', async () => {
    const carrier = new TestCarrier({
      'tools/list': (_, nth) => (nth === 1 ? list(['t', schema]) : list()),
      'tools/call': ({ headers }) => {
        if (headers!['mcp-param-region'] === undefined) return { content: [] };
        throw new RpcError(-32020, 'Header mismatch: Mcp-Param-Region is not known');
      },
    });
    const { service } = await over(carrier);
    expect(await service(exchangeFor('tools/call', { name: 't', arguments: { region: 'eu' } }))).toEqual({
      content: [],
    });
  });

  test('leave no listener after the list was read', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const carrier = new TestCarrier({ 'tools/list': () => list(['t', schema]), 'tools/call': () => ({ content: [] }) });
    const { service } = await over(carrier);
    const exchange = exchangeFor('tools/call', { name: 't' });
    await service(exchange);
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(exchange.signal, 'abort')).toEqual([]);
  });

  test('that are invalid are reported, and the tool is omitted', async () => {
    const errors: Error[] = [];
    const bad = { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } };
    const carrier = new TestCarrier({
      'tools/list': () => ({ ...list(['good', schema], ['bad\u001b', bad]), ttlMs: 5 }),
      'tools/call': () => ({}),
    });
    const { service } = await over(carrier, (error) => void errors.push(error));
    for (let n = 0; n < 2; n += 1) {
      expect(await service(exchangeFor('tools/list'))).toEqual({ ...list(['good', schema]), ttlMs: 5 });
    }
    expect(errors.map(({ message }) => message)).toEqual([
      'Tool bad\\u001b: x-mcp-header of properties.a must be on a property of type string, integer or boolean; the tool is left out',
    ]);
    await expect(service(exchangeFor('tools/call', { name: 'bad\u001b' }))).rejects.toMatchObject({ code: -32602 });
    expect(carrier.of('tools/call')).toEqual([]);
  });

  test('are not searched for in an endless list', async () => {
    const errors: Error[] = [];
    const carrier = new TestCarrier({
      'tools/list': () => ({ tools: [], nextCursor: 'on' }),
      'tools/call': () => ({}),
    });
    const { service } = await over(carrier, (error) => void errors.push(error));
    await service(exchangeFor('tools/call', { name: 't' }));
    expect(carrier.of('tools/list')).toHaveLength(100);
    expect(errors.map(({ message }) => message)).toEqual(['tools/list has more than 100 pages; the rest was not read']);
  });

  test('of an unknown tool, or without a list, do not prevent a call', async () => {
    const errors: Error[] = [];
    const carrier = new TestCarrier({
      'tools/list': () => {
        throw new RpcError(-32601, 'no list');
      },
      'tools/call': () => ({}),
    });
    const { service } = await over(carrier, (error) => void errors.push(error));
    await service(exchangeFor('tools/call', { name: 't' }));
    await service(exchangeFor('tools/call', { name: 't' }));
    expect([carrier.of('tools/list').length, carrier.of('tools/call').length]).toEqual([1, 2]);
    expect(errors.map(({ message }) => message)).toEqual(['no list']);
  });

  test('are awaited only for the handshake timeout, however long a call may take', async () => {
    const errors: Error[] = [];
    const carrier = new TestCarrier({
      'tools/list': ({ lifetime }) =>
        new Promise((_, reject) => {
          lifetime.onAbort(() => reject(lifetime.ended!));
        }),
      'tools/call': () => ({ content: [] }),
    });
    const { service } = await connectModern(carrier, {
      clientInfo,
      timeout: 0,
      maxTimeout: 0,
      handshakeTimeout: 5,
      onerror: (error) => void errors.push(error),
    });
    const exchange = exchangeFor('tools/call', { name: 't' });
    const cancelled = service(exchange);
    exchange.abort();
    await expect(cancelled).rejects.toThrow('aborted');
    expect(await service(exchangeFor('tools/call', { name: 't' }))).toEqual({ content: [] });
    expect(errors.map(({ message }) => message)).toEqual([
      'Request timed out: tools/list was not answered within 5 ms',
    ]);
  });

  test('are not used on other transports, and tools stay unchanged there', async () => {
    const bad = list(['bad', { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }]);
    const { service, seen } = scripted({ 'tools/list': () => bad, 'tools/call': () => ({}) });
    const { upstream } = await connected(service);
    expect((await upstream.service(exchangeFor('tools/list')))['tools']).toEqual(bad.tools);
    await upstream.service(exchangeFor('tools/call', { name: 'bad' }));
    expect(seen.map(({ method }) => method)).toEqual(['server/discover', 'tools/list', 'tools/call']);
  });
});

describe('a subscription', () => {
  test('is acknowledged, gets the requested changes, and ends with its exchange', async () => {
    const { server, upstream, errors } = await opened();
    const exchange = exchangeFor('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const over = upstream.service(exchange);
    await settled();
    const { id, params } = server.next();
    expect(params).toMatchObject({ notifications: { toolsListChanged: true } });
    const own = { _meta: { 'io.modelcontextprotocol/subscriptionId': id, more: 1 } };
    await server.send(
      { method: TOOLS_CHANGED, params: own },
      { method: ACKNOWLEDGED, params: { ...own, notifications: { toolsListChanged: true } } },
      { method: TOOLS_CHANGED, params: own },
      { method: 'notifications/prompts/list_changed', params: own },
      { method: LOG, params: { ...own, level: 'error', data: 1 } },
      { method: TOOLS_CHANGED, params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'other' } } },
    );
    expect(exchange.notified).toEqual([
      { method: ACKNOWLEDGED, params: { notifications: { toolsListChanged: true } } },
      { method: TOOLS_CHANGED, params: { _meta: { more: 1 } } },
    ]);
    expect(errors.map(({ message }) => message)).toEqual([
      'notifications/tools/list_changed came before the subscription was acknowledged: it was ignored',
      'notifications/message was ignored: it belongs to no request in flight',
      'notifications/tools/list_changed was ignored: it belongs to no request in flight',
    ]);
    exchange.abort();
    expect(await over).toEqual({});
    expect(server.next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } });
  });

  test('is acknowledged only with what was requested', async () => {
    const { server, upstream } = await opened();
    const requested = { toolsListChanged: true, promptsListChanged: false, resourceSubscriptions: ['a:b', 'a:c'] };
    const exchange = exchangeFor('subscriptions/listen', { notifications: requested });
    const over = upstream.service(exchange);
    await settled();
    const { id } = server.next();
    const notifications = {
      ...{ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, constructor: true },
      ...{ resourceSubscriptions: ['a:d', 'a:c'], taskIds: ['t'] },
    };
    const own = { 'io.modelcontextprotocol/subscriptionId': id };
    await server.send({ method: ACKNOWLEDGED, params: { _meta: own, notifications } });
    const acknowledged = { toolsListChanged: true, resourceSubscriptions: ['a:c'] };
    expect(exchange.notified).toEqual([{ method: ACKNOWLEDGED, params: { notifications: acknowledged } }]);
    exchange.abort();
    expect(await over).toEqual({});
  });

  test.each<[string, (id: unknown) => JsonObject]>([
    ['its response', (id) => ({ id, result: { _meta: { 'io.modelcontextprotocol/subscriptionId': id } } })],
    ['a cancellation', (id) => ({ method: 'notifications/cancelled', params: { requestId: id } })],
  ])('ends if the server sends %s', async (_, end) => {
    const { server, upstream, errors } = await opened();
    const over = upstream.service(exchangeFor('subscriptions/listen', { notifications: {} }));
    await settled();
    const { id } = server.next();
    const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': id }, notifications: {} };
    await server.send({ method: ACKNOWLEDGED, params }, end(id));
    expect(await over).toEqual({});
    expect(server.take()).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('fails if the server refuses it, or closes the connection', async () => {
    const { server, upstream } = await opened();
    const refused = upstream.service(exchangeFor('subscriptions/listen'));
    const lost = upstream.service(exchangeFor('subscriptions/listen'));
    for (const promise of [refused, lost]) promise.catch(() => {});
    await settled();
    await server.send({ id: server.next().id, error: { code: -32603, message: 'too many' } });
    await expect(refused).rejects.toMatchObject({ code: -32603, message: 'too many' });
    await server.transport.close();
    await expect(lost).rejects.toMatchObject({ code: -32000 });
  });

  test('forgets the definitions of tools when they have changed', async () => {
    let subscription: CarriedRequest | undefined;
    const carrier = new TestCarrier({
      'subscriptions/listen': (request) => {
        subscription = request;
        return new Promise(() => {});
      },
      'tools/list': () => ({ tools: [] }),
      'tools/call': () => ({}),
    });
    const { service } = await connectModern(carrier, { clientInfo });
    await service(exchangeFor('tools/call', { name: 't' }));
    void service(exchangeFor('subscriptions/listen', { notifications: { toolsListChanged: true } }));
    subscription!.onnotification({ jsonrpc: '2.0', method: ACKNOWLEDGED, params: { notifications: {} } });
    subscription!.onnotification({ jsonrpc: '2.0', method: TOOLS_CHANGED });
    await service(exchangeFor('tools/call', { name: 't' }));
    expect(carrier.of('tools/list')).toHaveLength(2);
  });
});

describe('a subscription whose stream is lost', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A server whose streams the test breaks. */
  async function broken() {
    const streams: { request: CarriedRequest; at: number; lose: (error: Error) => void }[] = [];
    const carrier = new TestCarrier({
      'subscriptions/listen': (request) =>
        new Promise((_, reject) => {
          streams.push({ request, at: Date.now(), lose: reject });
          request.lifetime.onAbort(() => reject(request.lifetime.ended!));
        }),
    });
    const errors: Error[] = [];
    const upstream = await connectModern(carrier, {
      clientInfo,
      timeout: 0,
      handshakeTimeout: 1000,
      onerror: (error) => void errors.push(error),
    });
    const acknowledge = (n: number, notifications: JsonObject): void =>
      streams[n]!.request.onnotification({ jsonrpc: '2.0', method: ACKNOWLEDGED, params: { notifications } });
    return { streams, carrier, errors, upstream, acknowledge };
  }

  test('fails if the server does not acknowledge it in time', async () => {
    const { streams, upstream } = await broken();
    const lost = upstream.service(exchangeFor('subscriptions/listen'));
    const silent = upstream.service(exchangeFor('subscriptions/listen'));
    for (const promise of [lost, silent]) promise.catch(() => {});
    await settled();
    streams[0]!.lose(new Error('reset'));
    await expect(lost).rejects.toThrow('reset');
    await vi.advanceTimersByTimeAsync(1000);
    await expect(silent).rejects.toMatchObject({ code: -32001, message: expect.stringContaining('not acknowledged') });
  });

  test('ends if the server cancels it', async () => {
    const { streams, upstream, acknowledge } = await broken();
    const over = upstream.service(exchangeFor('subscriptions/listen'));
    await settled();
    acknowledge(0, {});
    streams[0]!.request.onnotification({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    expect(await over).toEqual({});
  });
});
