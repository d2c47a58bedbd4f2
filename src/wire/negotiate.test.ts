import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { scripted, settled } from '../../test/support/service.ts';
import { Peer } from '../../test/support/wire.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject, Response } from '../jsonrpc/message.ts';
import type { CarriedRequest, Carrier } from '../transport/carrier.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import { streamTransport } from '../transport/stdio/stream.ts';
import type { Transport } from '../transport/transport.ts';
import { connectUpstream } from './negotiate.ts';
import type { ConnectUpstreamOptions, HttpTarget, NegotiatedUpstream } from './negotiation.ts';
import { createInbound, type InboundOptions } from './serve.ts';
import { memoryEraCache, type CachedEra, type EraCache } from './era-cache.ts';

const clientInfo = { name: 'us', version: '1' };
const MODERN = '2026-07-28';
const described = { supportedVersions: [MODERN], capabilities: {} };
const welcome = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'them', version: '1' } };
const unsupported = (...supported: string[]) => ({
  error: { code: -32022, message: `speaks ${supported.join(', ')}`, data: { supported, requested: MODERN } },
});

type Options = Partial<ConnectUpstreamOptions>;

function connecting(target: Transport | HttpTarget, options: Options = {}) {
  const errors: string[] = [];
  const upstream = connectUpstream(target, {
    clientInfo,
    onerror: ({ message }) => void errors.push(message),
    ...options,
  });
  upstream.then(
    (connected) => onTestFinished(() => connected.close()),
    () => {},
  );
  return { upstream, errors };
}

/** Starts to connect to a server that the test plays. */
async function playedServer(options?: Options) {
  const [near, far] = memoryTransportPair();
  const server = new Peer(far);
  await far.start();
  const connection = connecting(near, options);
  await settled();
  return { server, transport: near, ...connection };
}

const echoes = async ({ service, revision }: NegotiatedUpstream): Promise<unknown> =>
  (await service(new TestExchange('echo', { x: 1 }, { caller: { revision } })))['params'].x;

describe('over a connection of its own', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each<[string, string, InboundOptions['eras'], Options, Partial<NegotiatedUpstream>]>([
    ['with both eras', 'in the newest revision', 'both', {}, { era: 'modern', revision: MODERN }],
    ['with one era', 'in that era', 'modern', {}, { era: 'modern', revision: MODERN }],
    ['with handshakes', 'after a handshake', 'legacy', {}, { era: 'legacy', revision: '2025-11-25' }],
    ['with both eras', 'in the pinned era', 'both', { eras: 'legacy' }, { era: 'legacy', revision: '2025-11-25' }],
    ['with both eras', 'in an older revision', 'both', { revision: '2025-03-26' }, { revision: '2025-03-26' }],
    [
      'with both eras',
      'in the newest revision, pinned',
      'both',
      { revision: MODERN },
      { era: 'modern', revision: MODERN },
    ],
  ])('a server of this package %s is connected to %s', async (_, __, eras, options, expected) => {
    vi.useRealTimers();
    const { service } = scripted();
    for (const [near, far] of [memoryTransportPair(), streamPair()]) {
      const inbound = createInbound(service, { eras: eras! });
      await inbound.connect(far);
      const { upstream, errors } = connecting(near, options);
      const found = await upstream;
      expect(found).toMatchObject({ ...expected, route: 'connection', closed: false });
      expect(await echoes(found)).toBe(1);
      const onclose = vi.fn<() => void>();
      found.onclose = onclose;
      await found.close();
      await inbound.close(0);
      expect(onclose).toHaveBeenCalledOnce();
      expect(errors).toEqual([]);
    }
  });

  test.each<[string, JsonObject]>([
    ['does not know the method', { error: { code: -32601, message: 'Method not found' } }],
    ['refuses the parameters', { error: { code: -32602, message: 'Invalid request parameters' } }],
    ['requires initialize first', { error: { code: -32000, message: 'Server not initialized' } }],
    ['sends an invalid result', { result: {} }],
  ])('a server that %s gets a handshake on the same connection', async (_, answer) => {
    const { server, upstream } = await playedServer();
    const probe = server.next();
    expect(probe.method).toBe('server/discover');
    await server.send({ id: probe.id, ...answer });
    const initialize = server.next();
    expect(initialize.method).toBe('initialize');
    expect(initialize.id).not.toBe(probe.id);
    await server.send({ id: initialize.id, result: welcome });
    expect(await upstream).toMatchObject({ era: 'legacy', revision: '2025-11-25' });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a silent server gets a handshake, and its late response is not mistaken for another', async () => {
    const { server, upstream, errors } = await playedServer({ probeTimeout: 3000 });
    const probe = server.next();
    await vi.advanceTimersByTimeAsync(2999);
    expect(server.take()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    const initialize = server.next();
    await server.send(
      { id: probe.id, error: { code: -32601, message: 'what?' } },
      { id: initialize.id, result: welcome },
    );
    expect(await upstream).toMatchObject({ era: 'legacy' });
    expect(errors).toEqual([]);
  });

  test('a server that starts slowly, and has no handshake, is used without one', async () => {
    const { server, upstream } = await playedServer();
    const probe = server.next();
    await vi.advanceTimersByTimeAsync(5000);
    const initialize = server.next();
    await server.send(
      { id: probe.id, result: described },
      { id: initialize.id, error: { code: -32601, message: 'no such method' } },
    );
    const again = server.next();
    expect(again.method).toBe('server/discover');
    expect(new Set([probe.id, initialize.id, again.id]).size).toBe(3);
    await server.send({ id: again.id, result: described });
    expect(await upstream).toMatchObject({ era: 'modern' });
  });

  test('an error that is recognised does not lead to a handshake', async () => {
    for (const error of [
      { code: -32020, message: 'headers' },
      { code: -32021, message: 'capabilities' },
      unsupported('2030-01-01').error,
    ]) {
      const { server, upstream } = await playedServer();
      await server.send({ id: server.next().id, error });
      await expect(upstream).rejects.toMatchObject({ code: error.code });
      expect(server.take()).toEqual([]);
      expect(server.closed).toBe(true);
    }
  });

  test('a server that names a handshake revision gets a handshake for it', async () => {
    const { server, upstream } = await playedServer();
    await server.send({ id: server.next().id, ...unsupported('2030-01-01', '2025-06-18', '2024-11-05') });
    const initialize = server.next();
    expect(initialize).toMatchObject({ method: 'initialize', params: { protocolVersion: '2025-06-18' } });
    await server.send({ id: initialize.id, result: { ...welcome, protocolVersion: '2025-06-18' } });
    expect(await upstream).toMatchObject({ era: 'legacy', revision: '2025-06-18' });
  });

  test('if both eras fail, the error names both, and the connection is closed', async () => {
    const { server, upstream } = await playedServer();
    await server.send({ id: server.next().id, error: { code: -32601, message: 'what?' } });
    await server.send({ id: server.next().id, error: { code: -32603, message: 'broken' } });
    await expect(upstream).rejects.toThrow(
      'initialize failed: broken. Before that: The server does not speak 2026-07-28: what?',
    );
    expect(server.closed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a lost connection ends the attempt, with a hint about the likely cause', async () => {
    const { server, upstream } = await playedServer();
    await server.transport.close();
    await expect(upstream).rejects.toMatchObject({
      code: -32000,
      message: expect.stringMatching(/^Connection closed\. If the server exits .* set the option "eras" to "legacy"$/),
    });
  });

  test('negotiation can be cancelled', async () => {
    const controller = new AbortController();
    const { server, upstream } = await playedServer({ signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(upstream).rejects.toThrow('enough');
    expect(server.closed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    await expect((await playedServer({ signal: controller.signal })).upstream).rejects.toThrow('enough');
  });

  test('a server that answers the handshake with another revision than the only one to use is refused', async () => {
    const { server, upstream } = await playedServer({ revision: '2025-11-25' });
    const { id, params } = server.next();
    expect(params.protocolVersion).toBe('2025-11-25');
    await server.send({ id, result: { ...welcome, protocolVersion: '2025-03-26' } });
    await expect(upstream).rejects.toThrow('The server speaks 2025-03-26, and not 2025-11-25');
    expect(server.closed).toBe(true);
  });

  test('a revision and an era that contradict each other are refused', async () => {
    const { upstream } = await playedServer({ revision: MODERN, eras: 'legacy' });
    await expect(upstream).rejects.toBeInstanceOf(TypeError);
  });
});

describe('on behalf of a caller', () => {
  const theirs = { name: 'they', version: '2' };

  test.each<[Options['onBehalfOf'], InboundOptions['eras'], Partial<NegotiatedUpstream>]>([
    ['2025-06-18', 'both', { era: 'legacy', revision: '2025-06-18' }],
    ['2025-06-18', 'modern', { era: 'modern', revision: MODERN }],
    [MODERN, 'both', { era: 'modern', revision: MODERN }],
    [MODERN, 'legacy', { era: 'legacy', revision: '2025-11-25' }],
  ])(
    'with revision %s, a server with the eras "%s" is used in the nearest revision',
    async (onBehalfOf, eras, expected) => {
      const { service, seen } = scripted();
      const [near, far] = memoryTransportPair();
      const inbound = createInbound(service, { eras: eras! });
      await inbound.connect(far);
      onTestFinished(() => inbound.close(0));
      const eraCache = memoryEraCache();
      const { upstream } = connecting(near, { onBehalfOf, capabilities: { roots: {} }, key: 'it', eraCache });
      const found = await upstream;
      expect(found).toMatchObject(expected);
      const caller = { clientInfo: theirs, capabilities: { sampling: {} } };
      await found.service(new TestExchange('echo', {}, { caller }));
      const expectedCaller = found.era === 'modern' ? caller : { clientInfo, capabilities: { roots: {} } };
      expect(seen.at(-1)!.caller).toMatchObject(expectedCaller);
      const kept = await eraCache.get(onBehalfOf === MODERN ? 'it' : 'it (legacy first)');
      expect(kept).toMatchObject({ era: found.era });
    },
  );
});

describe('a cached era', () => {
  const legacy: CachedEra = { era: 'legacy', route: 'connection' };
  const modern: CachedEra = { era: 'modern', route: 'connection' };

  test('is used: the next connection starts with the handshake', async () => {
    const eraCache = memoryEraCache();
    const first = await playedServer({ eraCache, key: 'it' });
    await first.server.send({ id: first.server.next().id, error: { code: -32601, message: 'what?' } });
    await first.server.send({ id: first.server.next().id, result: welcome });
    await first.upstream;
    expect(await eraCache.get('it')).toEqual(legacy);
    const second = await playedServer({ eraCache, key: 'it' });
    expect(second.server.next().method).toBe('initialize');
    const other = await playedServer({ eraCache, key: 'other' });
    expect(other.server.next().method).toBe('server/discover');
  });

  test('that is wrong is noticed and replaced', async () => {
    const eraCache = memoryEraCache();
    await eraCache.set('it', legacy);
    const { server, upstream } = await playedServer({ eraCache, key: 'it' });
    await server.send({ id: server.next().id, ...unsupported(MODERN) });
    await server.send({ id: server.next().id, result: described });
    expect(await upstream).toMatchObject({ era: 'modern' });
    expect(await eraCache.get('it')).toEqual(modern);
    const back = await playedServer({ eraCache, key: 'it' });
    await back.server.send({ id: back.server.next().id, error: { code: -32601, message: 'what?' } });
    await back.server.send({ id: back.server.next().id, result: welcome });
    expect(await back.upstream).toMatchObject({ era: 'legacy' });
    expect(await eraCache.get('it')).toEqual(legacy);
  });

  test('is not stored for a pinned era', async () => {
    const eraCache = memoryEraCache();
    const { server, upstream } = await playedServer({ eraCache, key: 'it', eras: 'legacy' });
    await server.send({ id: server.next().id, result: welcome });
    await upstream;
    expect(await eraCache.get('it')).toBeUndefined();
  });

  test('is ignored if the cache fails, and the error is reported', async () => {
    const fail = (): never => {
      throw new Error('disk');
    };
    const eraCache: EraCache = { get: fail, set: async () => fail() };
    const { server, upstream, errors } = await playedServer({ eraCache, key: 'it' });
    await server.send({ id: server.next().id, result: described });
    expect(await upstream).toMatchObject({ era: 'modern' });
    expect(errors).toEqual(['disk', 'disk']);
  });

  test('is removed for the oldest server if there are more than 1,000', async () => {
    const eraCache = memoryEraCache();
    for (let n = 0; n <= 1000; n += 1) await eraCache.set(`${n}`, modern);
    expect([await eraCache.get('0'), await eraCache.get('1')]).toEqual([undefined, modern]);
  });
});

/** The error of an HTTP transport for a status. */
class StatusError extends Error {
  readonly status: number;
  readonly response: unknown;

  constructor(status: number, response?: unknown) {
    super(`HTTP ${status}`);
    this.status = status;
    this.response = response;
  }
}

type Answer = JsonObject | Error;

/** A server over HTTP, with its responses to each attempt, in order. `tried` has the attempts. */
function httpServer(answers: { modern?: Answer; streamable?: Answer; sse?: Answer }) {
  const tried: string[] = [];
  const open = new Set<unknown>();
  const opened = <T extends object>(what: T): T => {
    open.add(what);
    return what;
  };
  const legacy = (name: string, answer: Answer) => (): Transport => {
    tried.push(name);
    const [near, far] = memoryTransportPair();
    const { send } = near;
    far.onmessage = (message) => {
      if (!(answer instanceof Error) && 'id' in message)
        void far.send({ jsonrpc: '2.0', id: message.id, ...answer } as Response);
    };
    far.onclose = () => void open.delete(near);
    void far.start();
    near.send = (message) => (answer instanceof Error ? Promise.reject(answer) : send.call(near, message));
    return opened(near);
  };
  const target: HttpTarget = {
    carrier: () => {
      tried.push('modern');
      const carrier: Carrier = {
        mirrorsHeaders: true,
        closed: false,
        onclose: undefined,
        request: async ({ lifetime }: CarriedRequest) => {
          const answer = answers.modern;
          if (answer instanceof Error) throw answer;
          if (answer) return { jsonrpc: '2.0', id: 1, ...answer } as Response;
          return new Promise((_, reject) => {
            lifetime.onAbort(() => reject(lifetime.ended!));
          });
        },
        close: async () => void open.delete(carrier),
      };
      return opened(carrier);
    },
    streamable: legacy('streamable-http', answers.streamable ?? new StatusError(404)),
    sse: legacy('http+sse', answers.sse ?? new StatusError(404)),
  };
  return { target, tried, open };
}

describe('over HTTP', () => {
  const notFound = { error: { code: ErrorCode.MethodNotFound, message: 'what?' } };
  const greeted = { result: welcome };

  test.each<[string, Parameters<typeof httpServer>[0], string[], Partial<NegotiatedUpstream>]>([
    ['of 2026-07-28', { modern: { result: described } }, ['modern'], { era: 'modern', route: 'streamable-http' }],
    [
      'with an unexpected status',
      { modern: new StatusError(400), streamable: greeted },
      ['modern', 'streamable-http'],
      { era: 'legacy', route: 'streamable-http' },
    ],
    [
      'with an unexpected error',
      { modern: notFound, streamable: greeted },
      ['modern', 'streamable-http'],
      { era: 'legacy', route: 'streamable-http' },
    ],
    [
      'that names a handshake revision',
      { modern: unsupported('2025-06-18'), streamable: greeted },
      ['modern', 'streamable-http'],
      { era: 'legacy' },
    ],
    [
      'of HTTP+SSE',
      { modern: new StatusError(405), streamable: new StatusError(405), sse: greeted },
      ['modern', 'streamable-http', 'http+sse'],
      { era: 'legacy', route: 'http+sse' },
    ],
  ])('a server %s is found', async (_, answers, expected, found) => {
    const { target, tried, open } = httpServer(answers);
    const { upstream } = connecting(target);
    expect(await upstream).toMatchObject(found);
    expect(tried).toEqual(expected);
    expect(open.size).toBe(1);
  });

  test.each<[string, Parameters<typeof httpServer>[0], string[], JsonObject]>([
    ['401', { modern: new StatusError(401) }, ['modern'], { message: 'HTTP 401' }],
    ['403', { modern: new StatusError(403) }, ['modern'], { message: 'HTTP 403' }],
    ['429', { modern: new StatusError(429) }, ['modern'], { message: 'HTTP 429' }],
    ['a status of 500', { modern: new StatusError(503) }, ['modern'], { message: 'HTTP 503' }],
    ['a network error', { modern: new Error('ECONNREFUSED') }, ['modern'], { message: 'ECONNREFUSED' }],
    ['silence', {}, ['modern'], { code: -32001 }],
    ['a recognised error', { modern: unsupported('2030-01-01') }, ['modern'], { code: -32022 }],
    [
      '401 in the second attempt',
      { modern: new StatusError(404), streamable: new StatusError(401) },
      ['modern', 'streamable-http'],
      { message: 'HTTP 401' },
    ],
    [
      'an error of the handshake',
      { modern: notFound, streamable: { error: { code: -32603, message: 'broken' } } },
      ['modern', 'streamable-http'],
      { message: 'broken' },
    ],
    [
      'failure of all attempts',
      { modern: new StatusError(404) },
      ['modern', 'streamable-http', 'http+sse'],
      {
        message: 'There is no MCP server at the path of this URL (status 404); many servers use /mcp or /sse',
      },
    ],
    [
      'the same failure of several attempts',
      { modern: new StatusError(404), streamable: new StatusError(405), sse: new StatusError(405) },
      ['modern', 'streamable-http', 'http+sse'],
      {
        message:
          'The server does not answer as an MCP server. 2026-07-28: HTTP 404; Streamable HTTP with a handshake and HTTP+SSE: HTTP 405',
      },
    ],
  ])('%s ends the search, and leaves nothing open', async (_, answers, expected, error) => {
    const { target, tried, open } = httpServer(answers);
    const { upstream } = connecting(target, { handshakeTimeout: 5 });
    await expect(upstream).rejects.toMatchObject(error);
    await expect(upstream).rejects.toBeInstanceOf(RpcError);
    expect(tried).toEqual(expected);
    expect(open.size).toBe(0);
  });

  test('only the pinned era is tried', async () => {
    const legacy = httpServer({ streamable: greeted });
    await connecting(legacy.target, { eras: 'legacy' }).upstream;
    expect(legacy.tried).toEqual(['streamable-http']);
    const modern = httpServer({ modern: new StatusError(404) });
    await expect(connecting(modern.target, { revision: MODERN }).upstream).rejects.toThrow('HTTP 404');
    expect(modern.tried).toEqual(['modern']);
    const none = connecting({}, {}).upstream;
    await expect(none).rejects.toThrow('allow no transport');
  });

  test('the cached era is used, and corrected if it is wrong', async () => {
    const eraCache = memoryEraCache();
    const known = { eraCache, key: 'it' };
    const old = httpServer({ modern: new StatusError(405), streamable: new StatusError(405), sse: greeted });
    await connecting(old.target, known).upstream;
    await connecting(old.target, known).upstream;
    expect(old.tried.slice(3)).toEqual(['http+sse']);
    const renewed = httpServer({
      modern: { result: described },
      streamable: unsupported(MODERN),
      sse: new StatusError(405),
    });
    expect(await connecting(renewed.target, known).upstream).toMatchObject({ era: 'modern' });
    expect(renewed.tried).toEqual(['http+sse', 'modern']);
    await eraCache.set('it', { era: 'legacy', route: 'streamable-http' });
    const refusing = httpServer({
      modern: { result: described },
      streamable: new StatusError(400, unsupported(MODERN)),
    });
    expect(await connecting(refusing.target, known).upstream).toMatchObject({ era: 'modern' });
    const downgraded = httpServer({ modern: new StatusError(400), streamable: greeted });
    expect(await connecting(downgraded.target, known).upstream).toMatchObject({ era: 'legacy' });
    expect(await eraCache.get('it')).toEqual({ era: 'legacy', route: 'streamable-http' });
    const troubled = httpServer({ modern: { result: described }, streamable: new StatusError(503) });
    await expect(connecting(troubled.target, known).upstream).rejects.toThrow('HTTP 503');
  });

  test('negotiation can be cancelled', async () => {
    const controller = new AbortController();
    const { target, tried, open } = httpServer({ modern: new StatusError(404), streamable: greeted });
    const { upstream } = connecting(
      { ...target, streamable: () => (controller.abort(new Error('enough')), target.streamable!()) },
      { signal: controller.signal },
    );
    await expect(upstream).rejects.toThrow('enough');
    expect(tried).toEqual(['modern', 'streamable-http']);
    expect(open.size).toBe(0);
  });
});

/** Both ends of one connection, as lines over streams. */
function streamPair(): [Transport, Transport] {
  const [up, down] = [new PassThrough(), new PassThrough()];
  return [streamTransport(down, up, { role: 'client' }), streamTransport(up, down)];
}
