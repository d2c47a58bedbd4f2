import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Events, TestHttp, initialize } from '../../../../test/support/http.ts';
import { modernHeaders, modernRequest } from '../../../../test/support/modern.ts';
import { deferred, scripted } from '../../../../test/support/service.ts';
import type { AuthInfo } from '../../../protocol/types.ts';
import { memoryEventLog } from '../../../store/memory.ts';
import { createInbound } from '../../../wire/serve.ts';
import type { HttpCall, HttpRefusal } from './call.ts';
import type { Authenticator } from './access/authenticator.ts';
import { createHttpHandler, type HttpHandler, type HttpHandlerOptions } from './handler.ts';
import { listen } from './listen.ts';

const { service } = scripted();
const allow = (changes: Partial<Authenticator> = {}): Authenticator => ({
  authenticate: () => ({ principal: 'ada', scopes: [] }),
  authorize: () => undefined,
  metadata: () => undefined,
  ...changes,
});
/** The details of a call from this machine. */
const local: Pick<HttpCall, 'method' | 'path' | 'header'> = {
  method: 'GET',
  path: '/',
  header: (name) => (name === 'host' ? 'localhost' : undefined),
};
const message = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: { message: string } }).error.message;

test.each([
  ['with the same sessionKey', 'a secret of enough bytes', 200],
  ['without a sessionKey', undefined, 404],
])('a session goes on at another handler %s', async (_, sessionKey, status) => {
  const session = await new TestHttp(service, { sessionKey }).open();
  const other = new TestHttp(service, { sessionKey });
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  expect((await other.post(ping, { 'mcp-session-id': session.id })).status).toBe(status);
});

test('a request without a Host is refused', async () => {
  const listener = await listen({ port: 0, onsession: () => {}, allowedHosts: ['undefined'] });
  onTestFinished(() => listener.close(0));
  expect((await fetch(`http://127.0.0.1:${listener.port}/other`)).status).toBe(404);
  const socket = connect(listener.port, '127.0.0.1');
  // HTTP/1.1 requires a Host, and earlier versions have none.
  socket.end('GET /mcp HTTP/1.0\r\naccept: text/event-stream\r\n\r\n');
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  expect(answer).toContain('Host not allowed: undefined');
});

test.each(['the metadata document', 'a page', 'the endpoint'])(
  'a request with a foreign Host gets nothing: %s',
  async (what) => {
    const answer = vi.fn<(call: HttpCall) => void>((call) => call.respond(200, {}));
    const metadata = vi.fn<Authenticator['metadata']>(() => (what === 'a document' ? { a: 1 } : undefined));
    const pages = vi.fn<() => { answer: typeof answer } | undefined>(() =>
      what === 'a page' ? { answer } : undefined,
    );
    const http = new TestHttp(service, { auth: allow({ metadata }), pages });
    const response = await http.post(initialize(), { host: 'evil.example' });
    expect([response.status, await message(response)]).toEqual([
      403,
      'Host not allowed: evil.example (the option allowedHosts, or --allow-host, allows it)',
    ]);
    for (const callback of [answer, metadata, pages]) expect(callback).not.toHaveBeenCalled();
  },
);

test('a request with a foreign Origin gets no page, whether the page requires auth or not', async () => {
  for (const requiresAuth of [true, false]) {
    const answer = vi.fn<(call: HttpCall) => void>((call) => call.respond(200, {}));
    const http = new TestHttp(service, { auth: allow(), pages: () => ({ requiresAuth, answer }) });
    const response = await http.send('GET', '/page', { origin: 'https://evil.example' });
    expect([response.status, await message(response)]).toEqual([
      403,
      'Origin not allowed: https://evil.example (the option allowedOrigins, or --allow-origin, allows it)',
    ]);
    expect(answer).not.toHaveBeenCalled();
  }
});

test.each(['thrown', 'rejected with'])(
  'the same error of an authenticator is reported once for all calls, and other errors each time: %s',
  async (how) => {
    const down = new Error('no database');
    const failures: unknown[] = [down, down, new Error('another'), 'no error', 'no error'];
    const thrown = [...failures];
    const http = new TestHttp(service, {
      auth: allow({
        authenticate: () => {
          if (how === 'thrown') throw thrown.shift();
          return Promise.reject(thrown.shift());
        },
      }),
    });
    for (const _ of failures) expect((await http.post(initialize())).status).toBe(503);
    expect(http.errors.map(({ message: reported }) => reported)).toEqual([
      'no database',
      'another',
      'no error',
      'no error',
    ]);
  },
);

test.each([
  undefined,
  null,
  'ada',
  {},
  { principal: undefined, scopes: [] },
  { principal: '', scopes: [] },
  { principal: 'ada\ud800', scopes: [] },
  { principal: 'ada' },
  { status: 0, message: 'no', headers: {} },
  { status: 401, message: 1, headers: {} },
  { status: 401, message: 'no', headers: { 'www-authenticate': 'a\nb' } },
])('an authenticator that returns %j lets nobody in, and is reported', async (outcome) => {
  const authenticate = () => outcome as AuthInfo;
  const http = new TestHttp(service, { auth: allow({ authenticate }) });
  expect((await http.post(initialize())).status).toBe(503);
  expect(http.errors).toEqual([expect.any(TypeError)]);
});

test.each(['', 'ada\ud800', 1])(
  'a framework that gives the principal %j lets nobody in, and is reported',
  async (principal) => {
    const http = new TestHttp(service);
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(initialize()),
    };
    for (const context of [
      { principal: principal as string },
      { authInfo: { principal: principal as string, scopes: [] } },
    ])
      expect((await http.fetch(new Request('http://localhost/mcp', init), context)).status).toBe(503);
    expect(http.errors).toHaveLength(2);
    expect(String(http.errors[0])).toContain('The principal of a request');
  },
);

test('a malformed refusal of an authorized call is reported', async () => {
  const authorize = () => ({ status: 0, message: 'no', headers: {} }) as never;
  const http = new TestHttp(service, { auth: allow({ authorize }) });
  expect((await http.post(initialize())).status).toBe(500);
  expect(http.errors).toEqual([expect.any(TypeError)]);
});

test('a handler without onerror still answers', async () => {
  const handler = createHttpHandler({
    onsession: () => {},
    pages: () => {
      throw new Error('broken');
    },
  });
  const respond = vi.fn<HttpCall['respond']>();
  handler.handle({ ...local, respond } as unknown as HttpCall);
  expect(respond).toHaveBeenCalledExactlyOnceWith(500, expect.anything(), expect.any(String));
});

test('an error after a slow authenticator is answered and reported', async () => {
  const broken = new Error('broken');
  const http = new TestHttp(service, {
    auth: allow({ authenticate: () => Promise.resolve({ principal: 'ada', scopes: [] }) }),
    pages: () => ({
      requiresAuth: true,
      answer: () => {
        throw broken;
      },
    }),
  });
  expect((await http.send('GET', '/page')).status).toBe(500);
  expect(http.errors).toEqual([broken]);
});

test.each(['at once', 'later'])('a call does not run if its client has disconnected (authenticated %s)', (when) => {
  const answer = vi.fn<() => void>();
  const known: AuthInfo = { principal: 'ada', scopes: [] };
  const handler = createHttpHandler({
    onsession: () => {},
    auth: allow({ authenticate: () => (when === 'later' ? Promise.resolve(known) : known) }),
    pages: () => ({ requiresAuth: true, answer }),
  });
  const answered = deferred<unknown[]>();
  const respond = (...args: unknown[]): void => answered.resolve(args);
  handler.handle({ ...local, gone: true, respond } as unknown as HttpCall);
  return answered.promise.then((args) => {
    expect(args).toEqual([400, {}]);
    expect(answer).not.toHaveBeenCalled();
  });
});

test('if any path is the endpoint, the paths of HTTP+SSE are excluded', async () => {
  const http = new TestHttp(service, { path: '*' });
  const events = new Events(await http.send('GET', '/sse'));
  const { event, data } = (await events.next())!;
  expect([event, data]).toEqual(['endpoint', expect.stringMatching(/^\/messages\?/)]);
  const post = await http.send('PUT', '/messages');
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'POST']);
  await events.cancel();
  expect((await http.send('GET', '/any')).status).toBe(400);
});

test('all paths can be changed', async () => {
  const paths = { path: '/a', ssePath: '/b', messagesPath: '/c', publicPrefix: '/api' } as const;
  const http = new TestHttp(service, paths);
  expect(http.handler).toMatchObject({ path: '/a', ssePath: '/b' });
  expect((await http.send('PUT', '/a')).headers.get('allow')).toBe('GET, POST, DELETE');
  const events = new Events(await http.send('GET', '/b'));
  expect((await events.next())!.data).toMatch(/^\/api\/c\?/);
  await events.cancel();
  for (const path of ['/mcp', '/sse', '/messages', '/']) {
    const response = await http.send('GET', path);
    expect([response.status, await message(response)]).toEqual([404, 'Not found; the endpoint is /a']);
  }
});

test('without sessions there is no HTTP+SSE', async () => {
  const { onrequest } = createInbound(service);
  const http = new TestHttp(service, { onsession: undefined, onrequest, ssePath: '/sse' });
  expect(http.handler.ssePath).toBe(false);
  for (const [method, path] of [
    ['GET', '/sse'],
    ['POST', '/messages'],
  ] as const) {
    expect((await http.send(method, path)).status).toBe(404);
  }
});

test('while the handler drains, nothing new is opened, and what is open continues', async () => {
  const go = deferred();
  const slow = scripted({ work: () => go.promise.then(() => ({ done: true })) });
  const { onrequest } = createInbound(slow.service);
  const http = new TestHttp(slow.service, { onrequest, grace: 60_000 });
  const session = await http.open();
  const answer = session.call(1, 'work');
  const events = new Events(await http.send('GET', '/sse'));
  await vi.waitFor(() => expect(slow.seen.at(-1)?.method).toBe('work'));
  expect([http.handler.sessions, http.handler.streams, http.handler.requests]).toEqual([2, 1, 0]);
  expect(http.handler.draining).toBe(false);
  http.handler.drain();
  expect(http.handler.draining).toBe(true);
  const request = modernRequest(2, 'work');
  for (const refused of [
    await http.post(initialize()),
    await http.send('GET', '/sse'),
    await http.post(request, modernHeaders(request)),
  ]) {
    const { error } = (await refused.json()) as { error: unknown };
    expect([refused.status, refused.headers.get('retry-after'), error]).toEqual([
      503,
      '1',
      { code: -32000, message: 'The server is shutting down', data: { notExecuted: true } },
    ]);
  }
  go.resolve();
  expect(await (await answer).json()).toEqual({ jsonrpc: '2.0', id: 1, result: { done: true } });
  await http.handler.close();
  // Draining does not reopen what is closed.
  http.handler.drain();
  expect((await http.send('DELETE', '/mcp', session.headers)).status).toBe(503);
  expect([http.handler.sessions, await events.rest()]).toEqual([0, [expect.objectContaining({ event: 'endpoint' })]]);
});

test('requests without a session are counted while they are answered', async () => {
  const go = deferred();
  const slow = scripted({ work: () => go.promise.then(() => ({})) });
  const http = new TestHttp(slow.service, createInbound(slow.service));
  const request = modernRequest(1, 'work');
  const answer = http.post(request, modernHeaders(request));
  await vi.waitFor(() => expect(http.handler.requests).toBe(1));
  go.resolve();
  const response = await answer;
  expect(response.status).toBe(200);
  // If the answer takes long, its head comes before it.
  await response.text();
  expect(http.handler.requests).toBe(0);
  expect(new TestHttp(service).handler.requests).toBe(0);
});

test('a page of an allowed origin may send credentials and read responses, and other pages are refused', async () => {
  const origin = 'https://app.example';
  const auth = allow({ credentialHeaders: new Set(['x-api-key']) });
  for (const [given, more] of [
    [auth, ', x-api-key'],
    [undefined, ''],
  ] as const) {
    const http = new TestHttp(service, { allowedOrigins: [origin], auth: given });
    const preflightHeaders = { origin, 'access-control-request-method': 'POST' };
    const preflight = await http.send('OPTIONS', '/mcp', preflightHeaders);
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, origin]);
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(new RegExp(`mcp-name${more}$`));
    const read = await http.post(initialize(), { origin });
    expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
    expect((await http.send('OPTIONS', '/mcp', { origin })).status).toBe(405);
    const other = await http.send('OPTIONS', '/mcp', { ...preflightHeaders, origin: 'https://evil.example' });
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  }
});

test('only the configured paths require a credential', async () => {
  const refusal = { status: 401, message: 'Who are you?', headers: { 'www-authenticate': 'Bearer' } } as const;
  const pages = (path: string) =>
    ['/open', '/private'].includes(path)
      ? { requiresAuth: path === '/private', answer: (call: HttpCall) => call.respond(200, {}, String(call.principal)) }
      : undefined;
  const metadata = ({ path }: HttpCall) => (path === '/metadata' ? { a: 1 } : undefined);
  const statuses = async (changes: Partial<Authenticator>, options: Partial<HttpHandlerOptions> = {}) => {
    const http = new TestHttp(service, { auth: allow({ metadata, ...changes }), pages, ...options });
    const paths = ['/open', '/metadata', '/other', '/private', '/mcp', '/sse', '/messages'];
    return Promise.all(paths.map(async (path) => (await http.send('PUT', path)).status));
  };
  for (const authenticate of [() => refusal, () => Promise.resolve(refusal)]) {
    expect(await statuses({ authenticate })).toEqual([200, 405, 404, 401, 401, 401, 401]);
    expect(await statuses({ authenticate }, { path: '*' })).toEqual([200, 405, 401, 401, 401, 401, 401]);
    expect(await statuses({ authenticate }, { ssePath: false })).toEqual([200, 405, 404, 401, 401, 404, 404]);
  }
  expect(await statuses({})).toEqual([200, 405, 404, 200, 405, 405, 405]);
  expect(await (await new TestHttp(service, { auth: allow(), pages }).send('GET', '/private')).text()).toBe('ada');
  expect(await (await new TestHttp(service, { pages }).send('GET', '/private')).text()).toBe('undefined');
});

test('the default event log gets a quarter of the memory', async () => {
  const options = { onsession: () => {}, maxBufferedBytes: 40_000 };
  const state = { events: memoryEventLog() };
  const [standard, own] = [createHttpHandler(options), createHttpHandler({ ...options, state })];
  expect([standard.budget.limit, own.budget.limit, own.state]).toEqual([30_000, 40_000, state]);
  const append = async ({ state: { events: log } }: HttpHandler, bytes: number): Promise<void> => {
    await log.append('s', 'a', { jsonrpc: '2.0', method: 'x'.repeat(bytes) });
  };
  await append(own, 1000);
  expect(own.bufferedBytes).toBe(0);
  await append(standard, 1000);
  expect(standard.bufferedBytes).toBeGreaterThan(1000);
  await append(standard, 10_000);
  expect(standard.bufferedBytes).toBeLessThan(10_000);
});

test.each([
  [
    'throws',
    () => {
      throw new Error('thrown by onrefusal');
    },
  ],
  ['rejects', () => Promise.reject(new Error('thrown by onrefusal'))],
])('a request is refused although onrefusal %s', async (_, onrefusal: () => unknown) => {
  const onerror = vi.fn<(error: Error) => void>();
  const http = new TestHttp(service, { onrefusal, onerror });
  expect((await http.post(initialize(), { host: 'evil.example' })).status).toBe(403);
  await vi.waitFor(() => expect(onerror.mock.calls).toMatchObject([[{ message: 'thrown by onrefusal' }]]));
});

test('each refusal is reported', async () => {
  const onrefusal = vi.fn<(refusal: HttpRefusal) => void>();
  const http = new TestHttp(service, { onrefusal });
  const origin = 'https://evil.example';
  await http.post(initialize(), { host: 'evil.example' });
  await http.post(initialize(), { origin });
  const refusal = { status: 401, message: 'Who are you?', headers: {} } as const;
  await new TestHttp(service, { onrefusal, auth: allow({ authenticate: () => refusal }) }).post(initialize());
  const narrow = { status: 403, message: 'Not you', headers: {}, scopes: ['write'] } as const;
  await new TestHttp(service, { onrefusal, auth: allow({ authenticate: () => narrow }) }).post(initialize());
  expect(onrefusal.mock.calls).toEqual([
    [{ reason: 'host', status: 403, value: 'evil.example' }],
    [{ reason: 'origin', status: 403, value: origin }],
    [{ reason: 'credential', status: 401 }],
    [{ reason: 'scope', status: 403, scopes: ['write'] }],
  ]);
});

test('behind a router, the metadata of other servers is not here', async () => {
  const answer = await new TestHttp(service, { path: '*' }).send('GET', '/.well-known/oauth-protected-resource/other');
  expect([answer.status, await message(answer)]).toEqual([404, 'Not found']);
});

test.each(['', 'localhost, localhost'])('a request without exactly one Host is refused: %j', async (host) => {
  const onrefusal = vi.fn<(refusal: HttpRefusal) => void>();
  const response = await new TestHttp(service, { onrefusal }).post(initialize(), { host });
  expect([response.status, await message(response)]).toEqual([400, 'A request must have exactly one Host header']);
  expect(onrefusal).toHaveBeenCalledExactlyOnceWith({ reason: 'host', status: 400, value: host });
});

test('a refusal is answered even if onrefusal throws, and the error is reported', async () => {
  const broken = new Error('broken');
  const http = new TestHttp(service, {
    onrefusal: () => {
      throw broken;
    },
  });
  expect((await http.post(initialize(), { host: 'evil.example' })).status).toBe(403);
  expect(http.errors).toEqual([broken]);
});

test.each<[Partial<HttpHandlerOptions>, string]>([
  [{ onsession: undefined }, 'Set onsession, onrequest or both'],
  [{ path: 'mcp' }, 'A path must begin with a slash: "mcp"'],
  [{ path: 'mcp', ssePath: false }, 'A path must begin with a slash: "mcp"'],
  [{ ssePath: 'sse' }, 'A path must begin with a slash: "sse"'],
  [{ ssePath: '*' }, 'A path must begin with a slash: "*"'],
  [{ messagesPath: 'x/messages' }, 'A path must begin with a slash: "x/messages"'],
  [{ path: '/sse' }, 'The paths must differ: /sse, /sse, /messages'],
  [{ path: '/messages' }, 'The paths must differ: /messages, /sse, /messages'],
  [{ ssePath: '/mcp' }, 'The paths must differ: /mcp, /mcp, /messages'],
  [{ maxBodyBytes: Number.NaN }, 'maxBodyBytes must be more than 0, not NaN'],
  [{ maxSessions: 0 }, 'maxSessions must be more than 0, not 0'],
  [{ maxRequests: 0 }, 'maxRequests must be more than 0, not 0'],
  [{ idleTimeout: -1 }, 'idleTimeout must be more than 0, not -1'],
  [{ stallTimeout: 0 }, 'stallTimeout must be more than 0, not 0'],
  [{ keepAlive: -1 }, 'keepAlive must be 0 or more, not -1'],
  [{ grace: -1 }, 'grace must be 0 or more, not -1'],
  [{ retry: Number.NaN }, 'retry must be 0 or more, not NaN'],
  [{ streamDuration: -1 }, 'streamDuration must be 0 or more, not -1'],
])('invalid options are refused: %j', (options, why) => {
  expect(() => createHttpHandler({ onsession: () => {}, ...options })).toThrow(why);
});

test.each<Partial<HttpHandlerOptions>>([
  { path: '*' },
  { path: '/sse', ssePath: false },
  { keepAlive: 0, grace: 0, retry: 0, streamDuration: 0 },
  { maxBodyBytes: 1, maxSessions: 1, maxRequests: 1, idleTimeout: 1, stallTimeout: 1 },
])('valid options are accepted: %j', (options) => {
  expect(() => createHttpHandler({ onsession: () => {}, ...options })).not.toThrow();
});
