import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Exchange } from '../../src/core/exchange.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { McpServer } from '../../src/server/index.ts';
import { createHttpHandler, type HttpHandlerOptions } from '../../src/transport/http/server/handler.ts';
import { nodeListener, type NodeRequest } from '../../src/transport/http/server/node.ts';
import { createInbound, type Inbound, type InboundOptions } from '../../src/wire/serve.ts';
import { Events } from '../support/http.ts';
import { ABLE, modernHeaders, modernRequest } from '../support/modern.ts';
import { aborted, unhandled } from '../support/service.ts';

interface Sending {
  /** The principal of the sender. */
  readonly user?: string;
  readonly signal?: AbortSignal;
  readonly capabilities?: JsonObject;
}

interface Target {
  readonly url: string;
  readonly server: McpServer;
  readonly inbound: Inbound;
  readonly errors: Error[];
  /** Incomplete responses with a connected reader. */
  readonly open: Set<ServerResponse>;
  /** Tool calls in progress. */
  readonly running: Set<Exchange>;
  /** Open subscriptions. */
  readonly listening: Set<Exchange>;
  post(method: string, params?: JsonObject, sending?: Sending): Promise<Response>;
  /** The response to a request that is answered with plain JSON. */
  send(method: string, params?: JsonObject, sending?: Sending): Promise<any>;
}

/** A server on its own port. It takes the principal from a header. */
async function target(options: InboundOptions = {}, handling: Partial<HttpHandlerOptions> = {}): Promise<Target> {
  const errors: Error[] = [];
  const onerror = (error: Error): void => void errors.push(error);
  const server = new McpServer({ name: 'target', version: '1', onerror });
  const [running, listening] = [new Set<Exchange>(), new Set<Exchange>()];
  server.use((next) => async (exchange) => {
    const kind =
      exchange.method === 'tools/call'
        ? running
        : exchange.method === 'subscriptions/listen'
          ? listening
          : new Set<Exchange>();
    kind.add(exchange);
    try {
      return await next(exchange);
    } finally {
      kind.delete(exchange);
    }
  });
  server.tool('echo', {}, (_, { caller }) => `for ${caller.principal}`);
  server.tool('ask', {}, async (_, ctx) => {
    const roots = await ctx.roots();
    return `${roots.length} roots of ${ctx.caller.principal}`;
  });
  server.tool('hang', {}, async (_, ctx) => {
    await ctx.progress(1);
    await aborted(ctx.signal);
    return 'gone';
  });
  server.tool('deaf', {}, () => new Promise<string>(() => {}));
  server.resourceTemplate('a://{id}', { name: 'a' }, ({ id }) => id);

  const inbound = createInbound(server.service, { onerror, ...options });
  const { onsession, onrequest } = inbound;
  const handler = createHttpHandler({ onsession, onrequest, onerror, ...handling });
  const listener = nodeListener(handler);
  const open = new Set<ServerResponse>();
  const http = createServer((request: NodeRequest, response) => {
    open.add(response);
    response.once('close', () => open.delete(response));
    const { 'x-user': user } = request.headers;
    if (typeof user === 'string') request.principal = user;
    listener(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await inbound.close(0);
    await handler.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });

  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  let id = 0;
  const post: Target['post'] = (method, params = {}, { user, signal, capabilities = ABLE } = {}) => {
    const message = modernRequest((id += 1), method, params, capabilities);
    const headers = { ...modernHeaders(message), ...(user === undefined ? {} : { 'x-user': user }) };
    return fetch(url, { method: 'POST', headers, body: JSON.stringify(message), signal: signal ?? null });
  };
  const send: Target['send'] = async (...request) => (await post(...request)).json();
  return { url, server, inbound, errors, open, running, listening, post, send };
}

const ASK: JsonObject = { name: 'ask', arguments: { about: 'roots' } };
const ANSWERS: JsonObject = { 'roots-1': { roots: [{ uri: 'file:///a' }] } };
const ECHO: JsonObject = { name: 'echo' };

const answered = (requestState: unknown, inputResponses: unknown = ANSWERS): JsonObject => ({
  ...ASK,
  requestState,
  inputResponses,
});

/** Starts a request that waits for answers. Returns its state. */
async function asked({ send }: Target, sending?: Sending): Promise<string> {
  const { result } = await send('tools/call', ASK, sending);
  expect(result.resultType).toBe('input_required');
  return result.requestState;
}

async function expectRefused({ post }: Target, params: JsonObject, sending?: Sending): Promise<void> {
  const response = await post('tools/call', params, sending);
  const body: any = await response.json();
  expect([response.status, body.error?.code]).toEqual([400, -32602]);
}

describe('a requestState', () => {
  test('is refused if any of its characters is changed, and valid if not', async () => {
    const victim = await target();
    const state = await asked(victim, { user: 'ada' });
    const flipped = (at: number): string => state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1);
    for (let start = 0; start < state.length; start += 50) {
      const tries = Array.from({ length: Math.min(50, state.length - start) }, (_, index) => flipped(start + index));
      await Promise.all(tries.map((text) => expectRefused(victim, answered(text), { user: 'ada' })));
    }
    expect(victim.inbound.suspended).toBe(1);
    const { result } = await victim.send('tools/call', answered(state), { user: 'ada' });
    expect(result.content).toEqual([{ type: 'text', text: '1 roots of ada' }]);
    // Once, however many states there are: a state of another process looks the same.
    expect(victim.errors).toEqual([expect.objectContaining({ message: expect.stringContaining('of another key') })]);
  });

  test('is refused if it is cut, extended, encoded differently, or of another kind', async () => {
    const victim = await target();
    const state = await asked(victim);
    const others = [
      '',
      'ew1.',
      state.slice(0, -1),
      state.slice(0, 40),
      `${state}A`,
      `${state}=`,
      `${state}\n`,
      ` ${state}`,
      state.toUpperCase(),
      state.slice(4),
      `ew2.${state.slice(4)}`,
      state + state,
      `${state.slice(0, 10)}!${state.slice(10)}`,
      `ew1.${'A'.repeat(1_000_000)}`,
      null,
      5,
      [state],
      { state },
    ];
    for (const other of others) await expectRefused(victim, answered(other));
    expect((await victim.send('tools/call', answered(state))).result.content).toBeDefined();
  });

  test('is valid once, even with two simultaneous retries', async () => {
    const victim = await target();
    const state = await asked(victim);
    const all = await Promise.all(Array.from({ length: 20 }, () => victim.send('tools/call', answered(state))));
    expect(all.filter(({ result }) => result)).toHaveLength(1);
    await expectRefused(victim, answered(state));
    expect([victim.inbound.suspended, victim.running.size]).toEqual([0, 0]);
  });

  test('is invalid for another caller, another request, or another server', async () => {
    const victim = await target();
    const state = await asked(victim, { user: 'ada' });
    for (const user of ['eve', 'ada2', 'Ada', 'undefined', undefined]) {
      await expectRefused(victim, answered(state), user === undefined ? {} : { user });
    }
    await expectRefused(victim, { ...answered(state), name: 'echo' }, { user: 'ada' });
    await expectRefused(victim, { ...answered(state), arguments: { about: 'more' } }, { user: 'ada' });
    const read = { uri: 'a://1', requestState: state, inputResponses: ANSWERS };
    expect((await victim.send('resources/read', read, { user: 'ada' })).error.code).toBe(-32602);
    await expectRefused(await target(), answered(state), { user: 'ada' });
    expect(victim.inbound.suspended).toBe(1);
    const { result } = await victim.send('tools/call', answered(state), { user: 'ada' });
    expect(result.content[0].text).toBe('1 roots of ada');
  });

  test('without a principal is invalid for a principal', async () => {
    const victim = await target();
    const state = await asked(victim);
    await expectRefused(victim, answered(state), { user: 'eve' });
    expect((await victim.send('tools/call', answered(state))).result.content[0].text).toBe('1 roots of undefined');
  });

  test('still works after many retries with invalid answers', async () => {
    const victim = await target();
    const state = await asked(victim);
    for (const wrong of [null, [], 'x', { 'roots-1': 5 }, { 'roots-1': {} }, { 'roots-1': { roots: 'all' } }]) {
      await expectRefused(victim, answered(state, wrong));
    }
    expect((await victim.send('tools/call', answered(state))).result.content).toBeDefined();
  });
});

describe('a flood of requests that wait for answers', () => {
  test('from one principal is limited, and others are served', async () => {
    const victim = await target({ maxSuspended: 50, maxSuspendedPerPrincipal: 20 });
    const flood = await Promise.all(Array.from({ length: 200 }, () => victim.send('tools/call', ASK, { user: 'eve' })));
    expect(flood.filter(({ result }) => result?.resultType === 'input_required')).toHaveLength(20);
    expect(victim.inbound.suspended).toBe(20);
    const state = await asked(victim, { user: 'ada' });
    const { result } = await victim.send('tools/call', answered(state), { user: 'ada' });
    expect(result.content[0].text).toBe('1 roots of ada');
    expect(victim.running.size).toBe(20);
  });

  test('is limited in total, and requests without questions are still served', async () => {
    const victim = await target({ maxSuspended: 50, maxSuspendedPerPrincipal: 20 });
    const flood = await Promise.all(
      Array.from({ length: 200 }, (_, n) => victim.send('tools/call', ASK, { user: `eve ${n}` })),
    );
    expect(flood.filter(({ result }) => result?.resultType === 'input_required')).toHaveLength(50);
    expect([victim.inbound.suspended, victim.running.size]).toEqual([50, 50]);
    expect((await victim.send('tools/call', ECHO)).result.content).toBeDefined();
  });

  test('is limited in bytes, even with few requests', async () => {
    const victim = await target();
    const large = { ...ASK, arguments: { filler: 'x'.repeat(3 * 2 ** 20) } };
    let suspended = 0;
    for (let n = 0; n < 30; n += 1) {
      const { result } = await victim.send('tools/call', large);
      if (result?.resultType === 'input_required') suspended += 1;
    }
    expect(suspended).toBe(21);
    expect(victim.inbound.suspended).toBe(21);
  });

  test('ends if no caller returns', async () => {
    const victim = await target({ askTimeout: 100 });
    const flood = Array.from({ length: 50 }, () => victim.send('tools/call', ASK));
    const [{ result }] = await Promise.all(flood);
    await expect.poll(() => [victim.inbound.suspended, victim.running.size]).toEqual([0, 0]);
    await expectRefused(victim, answered(result.requestState));
  });
});

test('parameters with too many levels for JSON affect only their sender', async () => {
  const failures = unhandled();
  const victim = await target();
  const message = modernRequest(1, 'tools/call', { ...ASK, arguments: { deep: 0 } }, ABLE);
  for (const levels of [1000, 3000, 5000, 8000, 100_000]) {
    const body = JSON.stringify(message).replace('"deep":0', `"deep":${'['.repeat(levels)}${']'.repeat(levels)}`);
    const response = await fetch(victim.url, { method: 'POST', headers: modernHeaders(message), body });
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: 1 });
  }
  expect((await victim.send('tools/call', ECHO)).result.content).toBeDefined();
  expect(await failures()).toEqual([]);
});

describe('a flood of subscriptions', () => {
  const LISTEN: JsonObject = { notifications: { resourceSubscriptions: ['a://1'] } };

  test('is refused above the limit, other requests are served, and there is room again after some end', async () => {
    const victim = await target({ maxSubscriptions: 50 });
    const controller = new AbortController();
    const flood = await Promise.all(
      Array.from({ length: 80 }, () => victim.post('subscriptions/listen', LISTEN, { signal: controller.signal })),
    );
    const streams = flood.filter(({ headers }) => headers.get('content-type') === 'text/event-stream');
    // One address may have seven eighths of them.
    expect([streams.length, victim.listening.size]).toEqual([44, 44]);
    expect((await victim.send('tools/call', ECHO)).result.content).toBeDefined();
    controller.abort();
    await expect.poll(() => victim.listening.size).toBe(0);
    const events = new Events(await victim.post('subscriptions/listen', LISTEN));
    expect(await events.message()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    await events.cancel();
  });

  test('leaves nothing in memory after a thousand are opened and closed', async () => {
    const victim = await target();
    for (let round = 0; round < 10; round += 1) {
      const controller = new AbortController();
      const opened = Array.from({ length: 100 }, () =>
        victim.post('subscriptions/listen', LISTEN, { signal: controller.signal }),
      );
      await Promise.all(opened);
      expect(victim.listening.size).toBe(100);
      controller.abort();
      await expect.poll(() => victim.listening.size).toBe(0);
    }
    expect(victim.open.size).toBe(0);
    expect(victim.errors).toEqual([]);
  });

  test('leaves nothing in memory if clients disconnect before the response', async () => {
    const victim = await target();
    for (let round = 0; round < 5; round += 1) {
      const gone = Array.from({ length: 50 }, (_, n) => {
        const controller = new AbortController();
        const reply = victim.post('subscriptions/listen', LISTEN, { signal: controller.signal }).catch(() => {});
        setTimeout(() => controller.abort(), n % 5);
        return reply;
      });
      await Promise.all(gone);
    }
    await expect.poll(() => victim.listening.size).toBe(0);
    expect((await victim.send('tools/call', ECHO)).result.content).toBeDefined();
  });
});

describe('a handler that does not return', () => {
  const HANG: JsonObject = { name: 'hang', _meta: { progressToken: 1 } };

  test('is aborted when its caller disconnects', async () => {
    const victim = await target();
    const controllers = Array.from({ length: 20 }, () => new AbortController());
    await Promise.all(controllers.map(({ signal }) => victim.post('tools/call', HANG, { signal })));
    expect(victim.running.size).toBe(20);
    for (const controller of controllers.slice(5)) controller.abort();
    await expect.poll(() => victim.running.size).toBe(5);
    for (const controller of controllers) controller.abort();
    await expect.poll(() => victim.running.size).toBe(0);
  });

  test('is aborted when its stream begins if the caller disconnected before that', async () => {
    const victim = await target({}, { grace: 20 });
    const controller = new AbortController();
    const quiet = { name: 'hang' };
    const reply = victim.post('tools/call', quiet, { signal: controller.signal }).catch(() => {});
    await expect.poll(() => victim.running.size).toBe(1);
    controller.abort();
    await reply;
    await expect.poll(() => victim.running.size).toBe(0);
  });

  test('does not prevent the server from closing, and its caller gets an error', async () => {
    const victim = await target();
    const replies = ['hang', 'deaf'].map((name) => victim.post('tools/call', { ...HANG, name }));
    await expect.poll(() => victim.running.size).toBe(2);
    await victim.inbound.close(200);
    for (const reply of replies) expect(await (await reply).text()).toContain('shutting down');
  });
});

describe('a client that does not read', () => {
  const uris = Array.from({ length: 500 }, (_, n) => `a://${n}${'x'.repeat(400)}`);

  /** Sends a request and never reads the response. */
  function unreadRequest({ url }: Target, method: string, params: JsonObject): Promise<Socket> {
    const message = modernRequest('deaf', method, params, ABLE);
    const body = JSON.stringify(message);
    const { hostname, port, host } = new URL(url);
    const headers = { ...modernHeaders(message), host, 'content-length': String(Buffer.byteLength(body)) };
    const lines = Object.entries(headers).map((pair) => pair.join(': '));
    return new Promise((resolve) => {
      const socket = connect({ port: Number(port), host: hostname }, () => {
        socket.write(`POST /mcp HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
        resolve(socket);
      });
      socket.pause();
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
    });
  }

  test('with a subscription is disconnected, and others get all changes', async () => {
    const victim = await target({}, { stallTimeout: 300, keepAlive: 0 });
    const listen = { notifications: { resourceSubscriptions: uris } };
    for (let n = 0; n < 5; n += 1) await unreadRequest(victim, 'subscriptions/listen', listen);
    await expect.poll(() => victim.listening.size).toBe(5);
    const good = new Events(
      await victim.post('subscriptions/listen', { notifications: { resourceSubscriptions: ['a://0'] } }),
    );
    await good.message();
    const deadline = Date.now() + 20_000;
    let rounds = 0;
    while (victim.listening.size > 1 && Date.now() < deadline) {
      rounds += 1;
      for (const uri of uris) victim.server.resourceUpdated(uri);
      victim.server.resourceUpdated('a://0');
      expect((await good.message()).params.uri).toBe('a://0');
    }
    expect(victim.listening.size).toBe(1);
    expect(rounds).toBeGreaterThan(1);
    await good.cancel();
    await expect.poll(() => victim.listening.size).toBe(0);
  });

  test('with a call slows down the handler, and the call is cancelled after the stall timeout', async () => {
    const victim = await target({}, { stallTimeout: 300, keepAlive: 0 });
    let said = 0;
    victim.server.tool('talk', {}, async (_, ctx) => {
      for (; !ctx.signal.aborted; said += 1) await ctx.log('info', 'x'.repeat(100_000));
      return 'talked';
    });
    const logged = { name: 'talk', _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } };
    await unreadRequest(victim, 'tools/call', logged);
    await expect.poll(() => said).toBeGreaterThan(0);
    await expect.poll(() => victim.running.size).toBe(0);
    // Only as much as the sockets accepted. The rest was never written.
    expect(said).toBeLessThan(500);
    expect((await victim.send('tools/call', ECHO)).result.content).toBeDefined();
  });
});
