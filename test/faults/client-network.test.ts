import { createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect, ConnectionError, TimeoutError, type Client, type ClientOptions } from 'everwire/client';
import { McpServer } from 'everwire/server';
import { streamTransport } from 'everwire/stdio';
import { json, scripted } from '../support/http-server.ts';
import { oddServer, POSTS } from '../support/odd-server.ts';
import { deferred } from '../support/service.ts';
import { Tamper } from '../support/tamper.ts';

/** Networks and machines that stop without a message, and servers that refuse or redirect requests. */

afterEach(() => void vi.useRealTimers());

const WAYS = ['modern HTTP', 'session HTTP', 'HTTP+SSE'] as const;

/** A client, a proxy, and a server whose tool returns a text and counts its calls. */
async function world(way: (typeof WAYS)[number], options: ClientOptions = {}) {
  const calls = vi.fn<(text: string) => void>();
  const server = new McpServer({ name: 'echoing', version: '1.0.0', onerror: () => {} });
  const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const;
  server.tool('echo', { input }, ({ text }) => {
    calls(text);
    return text;
  });
  const listener = await server.listen({ port: 0 });
  onTestFinished(() => listener.close(0));
  const tamper = await Tamper.before(listener.url);
  const client = await connect(`${tamper.origin}${way === 'HTTP+SSE' ? '/sse' : '/mcp'}`, {
    eras: way === 'modern HTTP' ? 'modern' : 'legacy',
    cache: false,
    onerror: () => {},
    ...(way === 'HTTP+SSE' && { eraCache: { get: () => ({ era: 'legacy', route: 'http+sse' }), set: () => {} } }),
    ...options,
  });
  onTestFinished(() => client.close());
  await client.callTool('echo', { text: 'first' });
  calls.mockClear();
  return { client, tamper, calls };
}

const failed = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const echo = async (client: Client, text: string, options = {}): Promise<unknown> =>
  (await client.callTool('echo', { text }, options)).content[0];

describe.each(WAYS)('over %s', (way) => {
  test('a server that disappears is noticed in time, and found again', async () => {
    // Over HTTP+SSE, answers come on a stream. Only its silence shows that it is lost.
    const { client, tamper } = await world(way, { httpLimits: { idleTimeout: 400 } });
    tamper.freeze();
    expect(await failed(client.callTool('echo', { text: 'gone' }, { timeout: 200 }))).toMatchObject({
      name: expect.stringMatching(/^(TimeoutError|ConnectionError)$/),
    });
    await vi.waitUntil(
      async () => (await failed(client.callTool('echo', { text: 'back' }, { timeout: 200 }))) === undefined,
      { interval: 20 },
    );
    expect(await echo(client, 'again')).toEqual({ type: 'text', text: 'again' });
  });

  test('a response that arrives byte by byte is read', async () => {
    const { client, tamper } = await world(way);
    tamper.slow = true;
    const text = 'ä😀\n\r\u2028'.repeat(20);
    expect(await echo(client, text)).toEqual({ type: 'text', text });
    tamper.slow = false;
    expect(await echo(client, 'fast')).toEqual({ type: 'text', text: 'fast' });
  });

  test('the error for an unreachable server names it, and says that later calls did not run', async () => {
    const { client, tamper, calls } = await world(way);
    const { port } = new URL(tamper.origin);
    await tamper.stop();
    const errors = await Promise.all(['a', 'b', 'c'].map((text) => failed(client.callTool('echo', { text }))));
    for (const error of errors) expect(error).toBeInstanceOf(ConnectionError);
    const met = (error: unknown): boolean => error instanceof ConnectionError && error.notExecuted;
    const again = await vi.waitUntil(async () => {
      const error = await failed(client.callTool('echo', { text: 'd' }));
      return met(error) && error;
    });
    expect(again).toMatchObject({ message: expect.stringContaining(`127.0.0.1:${port}`) });
    expect(calls).not.toHaveBeenCalled();
  });
});

describe('a server that does not read', () => {
  test.each(['modern', 'legacy'] as const)('delays a call over HTTP no longer than its timeout (%s)', async (eras) => {
    let reads = true;
    const server = new McpServer({ name: 's', version: '1' });
    server.tool('take', {}, () => 'taken');
    const listener = await server.listen({ port: 0 });
    onTestFinished(() => listener.close(0));
    const tamper = await Tamper.before(listener.url);
    tamper.reads = () => reads;
    const client = await connect(`${tamper.origin}/mcp`, { eras, cache: false, onerror: () => {} });
    onTestFinished(() => client.close());
    await client.callTool('take');
    reads = false;
    const much = { text: 'x'.repeat(20_000_000) };
    expect(await failed(client.callTool('take', much, { timeout: 300 }))).toBeInstanceOf(TimeoutError);
    reads = true;
    expect(await client.callTool('take')).toMatchObject({ content: [{ text: 'taken' }] });
  });

  test('gets a limited amount of data: a call above the limit fails at once, with the reason', async () => {
    const { client } = await oddServer(
      'session HTTP',
      { slow: () => {} },
      { httpLimits: { maxPending: 5000 }, timeout: 500 },
    );
    const error = await failed(client.callTool('good', { text: 'x'.repeat(10_000) }));
    expect(error).toMatchObject({ name: 'ConnectionError', message: expect.stringContaining('More than 5000') });
    expect(await failed(client.callTool('good'))).toBeUndefined();
  });

  test.each(['modern', 'legacy'] as const)('delays a call over pipes no longer than its timeout (%s)', async (eras) => {
    const up = new PassThrough({ highWaterMark: 1 });
    const down = new PassThrough();
    const server = new McpServer({ name: 's', version: '1' });
    server.tool('take', {}, () => 'taken');
    await server.connect(streamTransport(up, down));
    const transport = streamTransport(down, up, { role: 'client', maxPendingBytes: 100_000 });
    const client = await connect(transport, { eras, onerror: () => {} });
    onTestFinished(() => client.close());
    up.pause();
    const errors = await Promise.all(
      Array.from({ length: 20 }, () => failed(client.callTool('take', { text: 'x'.repeat(10_000) }, { timeout: 300 }))),
    );
    expect(errors.filter((error) => error instanceof ConnectionError).length).toBeGreaterThan(5);
    expect(errors.filter((error) => error === undefined)).toEqual([]);
    up.resume();
    expect(await client.callTool('take')).toMatchObject({ content: [{ text: 'taken' }] });
  });

  test('and does not accept connections fails the connection after a timeout', async () => {
    const server = createServer({ pauseOnConnect: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const error = await failed(connect(`http://127.0.0.1:${port}/mcp`, { connectTimeout: 200 }));
    expect(error).toMatchObject({ name: 'TimeoutError', limit: 200 });
  });
});

describe.each(POSTS)('a server over %s that refuses a call', (way) => {
  const later = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString();

  test.each<[number, string, () => string]>([
    [429, 'in seconds', () => '20'],
    [503, 'in seconds', () => '20'],
    [429, 'as a date', () => later(20)],
    [503, 'as a date', () => later(20)],
  ])('with %i and a retry time %s gets the call again at that time', async (status, _, when) => {
    const { client, calls } = await oddServer(
      way,
      {
        busy: ({ count, id, response }) => {
          if (count === 1) response.writeHead(status, { 'retry-after': when() }).end();
          else json(response, { jsonrpc: '2.0', id, result: { content: [] } });
        },
      },
      { timeout: 60_000 },
    );
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    const call = client.callTool('busy');
    await vi.waitUntil(() => calls.get('busy') === 1 && vi.getTimerCount() >= 2);
    await vi.advanceTimersByTimeAsync(18_000);
    expect(calls.get('busy')).toBe(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await call).toEqual({ content: [] });
    expect(calls.get('busy')).toBe(2);
  });

  test.each(['31536000', '99999999999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'and asks for a pause of %s gets no other call',
    async (when) => {
      const { client, calls } = await oddServer(way, {
        busy: ({ response }) => response.writeHead(429, { 'retry-after': when }).end(),
      });
      const error = await failed(client.callTool('busy'));
      expect(error).toMatchObject({
        name: 'ConnectionError',
        notExecuted: true,
        message: expect.stringContaining(`retry later (${when})`),
      });
      expect(calls.get('busy')).toBe(1);
      expect(await failed(client.callTool('other'))).toBeUndefined();
    },
  );

  test('is awaited only within the timeout of the call and the limit of the client', async () => {
    const busy = { busy: ({ response }: any) => response.writeHead(503, { 'retry-after': '2' }).end() };
    const { client, calls } = await oddServer(way, busy);
    expect(await failed(client.callTool('busy', {}, { timeout: 100 }))).toBeInstanceOf(TimeoutError);
    // A slow machine may need the whole time for sending it.
    await expect.poll(() => calls.get('busy')).toBe(1);
    const impatient = await oddServer(way, busy, { httpLimits: { maxRetryAfter: 1000 } });
    expect(await failed(impatient.client.callTool('busy'))).toMatchObject({ name: 'ConnectionError' });
    expect(impatient.calls.get('busy')).toBe(1);
  });

  test.each([429, 500, 503])('with %i and without a retry time does not get the call again', async (status) => {
    const { client, calls } = await oddServer(way, { busy: ({ response }) => response.writeHead(status).end() });
    const error = await failed(client.callTool('busy'));
    expect(error).toMatchObject({ name: 'ConnectionError', notExecuted: status === 429 });
    expect((error as Error).message).toContain(`status ${status}`);
    expect(calls.get('busy')).toBe(1);
    expect(await failed(client.callTool('other'))).toBeUndefined();
  });

  test('with 503 for a shutdown did not run the call, as the error says', async () => {
    const started = deferred();
    const release = deferred();
    const server = new McpServer({ name: 'closing', version: '1.0.0', onerror: () => {} });
    server.tool('work', {}, async () => {
      started.resolve();
      await release.promise;
      return 'done';
    });
    const ran = vi.fn<() => string>(() => 'ran');
    server.tool('late', {}, ran);
    const listener = await server.listen({ port: 0 });
    const client = await connect(listener.url, {
      eras: way === 'modern HTTP' ? 'modern' : 'legacy',
      onerror: () => {},
    });
    onTestFinished(() => client.close());
    const work = client.callTool('work');
    await started.promise;
    const closing = server.close(60_000);
    expect(await failed(client.callTool('late'))).toMatchObject({
      name: 'ConnectionError',
      message: expect.stringContaining('The server is shutting down'),
      notExecuted: true,
    });
    release.resolve();
    expect(await work).toMatchObject({ content: [{ text: 'done' }] });
    await closing;
    expect(ran).not.toHaveBeenCalled();
  });

  test('with 503 and a JSON-RPC error without details may have run the call', async () => {
    const error = { code: -32000, message: 'Try later' };
    const { client } = await oddServer(way, {
      busy: ({ id, response }) => json(response, { jsonrpc: '2.0', id, error }, 503),
    });
    expect(await failed(client.callTool('busy'))).toMatchObject({ name: 'ConnectionError', notExecuted: false });
  });

  test('a redirect on the same origin is followed, and one to another origin or in a circle is an error', async () => {
    const stranger = await scripted((_, response) => void response.writeHead(200).end());
    const { client, calls } = await oddServer(way, {
      moved: ({ count, id, response }) => {
        if (count === 1) response.writeHead(307, { location: '/mcp/moved' }).end();
        else json(response, { jsonrpc: '2.0', id, result: { content: [] } });
      },
      away: ({ response }) => response.writeHead(308, { location: stranger.url.href }).end(),
      round: ({ response }) => response.writeHead(307, { location: '/mcp' }).end(),
      changed: ({ response }) => response.writeHead(302, { location: '/mcp' }).end(),
      nowhere: ({ response }) => response.writeHead(307).end(),
    });
    expect(await client.callTool('moved')).toEqual({ content: [] });
    const said = (name: string): Promise<unknown> => failed(client.callTool(name));
    expect(await said('away')).toMatchObject({ notExecuted: true, message: expect.stringContaining('another origin') });
    expect(await said('round')).toMatchObject({ notExecuted: true, message: expect.stringContaining('more than 5') });
    // Status 302 may also follow a request that ran.
    expect(await said('changed')).toMatchObject({
      notExecuted: false,
      message: expect.stringContaining('may change the method'),
    });
    expect(await said('nowhere')).toMatchObject({
      notExecuted: true,
      message: expect.stringContaining('without a valid Location'),
    });
    expect(stranger.asked).toEqual([]);
    expect(calls.get('round')).toBe(6);
    expect(await failed(client.callTool('other'))).toBeUndefined();
  });
});
