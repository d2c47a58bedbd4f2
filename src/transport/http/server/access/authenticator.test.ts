import { connect as connectSocket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Events, POST_HEADERS, TestHttp, initialize } from '../../../../../test/support/http.ts';
import { deferred, scripted } from '../../../../../test/support/service.ts';
import type { JsonObject } from '../../../../jsonrpc/message.ts';
import type { AuthInfo } from '../../../../protocol/types.ts';
import { createInbound } from '../../../../wire/serve.ts';
import type { HttpCall } from '../call.ts';
import { insufficientScope } from './challenge.ts';
import type { Authenticator } from './authenticator.ts';
import type { HttpHandlerOptions } from '../handler.ts';
import { listen } from '../listen.ts';

const DOCUMENT = '/.well-known/thing';

/** Accepts `Bearer <name> <scope>...` as the caller's name and scopes. */
function testAuth(changes: Partial<Authenticator> = {}): Authenticator {
  return {
    authenticate(call) {
      const [, principal, ...scopes] = (call.header('authorization') ?? '').split(' ');
      if (principal) return { principal, scopes };
      return { status: 401, message: 'Who are you?', headers: { 'www-authenticate': 'Bearer realm="test"' } };
    },
    authorize: (auth, _request, scopes) =>
      scopes.every((scope) => auth.scopes.includes(scope)) ? undefined : insufficientScope(scopes),
    metadata: ({ path }) => (path === DOCUMENT ? { thing: true } : undefined),
    ...changes,
  };
}

/** The method `need/a/b` requires the scopes a and b. */
const scopesFor: HttpHandlerOptions['scopesFor'] = ({ method }) => method.split('/').slice(1);

const { service, seen } = scripted({ 'need/a': () => ({}), 'need/a/b': () => ({}), 'need/c': () => ({}) });
const request = (id: string | number, method: string, params?: JsonObject) => ({ jsonrpc: '2.0', id, method, params });
const as = (credential: string) => ({ authorization: `Bearer ${credential}` });

function gated(auth: Partial<Authenticator> = {}, options: Partial<HttpHandlerOptions> = {}): TestHttp {
  return new TestHttp(service, { auth: testAuth(auth), scopesFor, ...options });
}

/** A session of one caller, which other callers try to use. */
async function sessionOf(http: TestHttp, credential: string, revision = '2025-11-25'): Promise<Record<string, string>> {
  const response = await http.post(initialize(revision), as(credential));
  expect(response.status).toBe(200);
  await response.text();
  return { 'mcp-session-id': response.headers.get('mcp-session-id')! };
}

const body = (response: Response): Promise<any> => response.json();

test.each([
  ['POST', '/mcp'],
  ['GET', '/mcp'],
  ['DELETE', '/mcp'],
  ['PUT', '/mcp'],
  ['GET', '/sse'],
  ['POST', '/messages'],
])('without a credential, %s %s is refused before anything else is checked', async (method, path) => {
  const response = await gated().send(method, path, {}, method === 'POST' || method === 'PUT' ? 'no json' : undefined);
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toBe('Bearer realm="test"');
  expect(await body(response)).toEqual({ jsonrpc: '2.0', error: { code: -32000, message: 'Who are you?' } });
});

test('Host and Origin are checked before a credential', async () => {
  const metadataPaths: string[] = [];
  const http = gated({
    authenticate: ({ path }) => {
      metadataPaths.push(path);
      return { principal: 'a', scopes: [] };
    },
  });
  expect((await http.post(initialize(), { ...as('a'), host: 'evil.example' })).status).toBe(403);
  expect((await http.post(initialize(), { ...as('a'), origin: 'https://evil.example' })).status).toBe(403);
  expect(metadataPaths).toEqual([]);
  expect((await http.post(initialize(), as('a'))).status).toBe(200);
  expect(metadataPaths).toEqual(['/mcp']);
});

test('at an unknown path, no credential is required', async () => {
  const response = await gated().send('GET', '/.well-known/oauth-authorization-server');
  expect(response.status).toBe(404);
  expect(response.headers.get('www-authenticate')).toBeNull();
});

test('if any path is the endpoint, each path requires a credential', async () => {
  const http = gated({}, { path: '*' });
  expect((await http.send('GET', '/any/path')).status).toBe(401);
  expect((await http.send('GET', DOCUMENT)).status).toBe(200);
});

test('a web page may send a preflight without a credential, and may use any header of the authenticator', async () => {
  const origin = 'https://app.example';
  const http = gated({ credentialHeaders: new Set(['x-key']) }, { allowedOrigins: [origin] });
  const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-key' };
  const response = await http.send('OPTIONS', '/mcp', headers);
  expect(response.status).toBe(204);
  expect(response.headers.get('access-control-allow-headers')?.split(', ')).toEqual(
    expect.arrayContaining(['authorization', 'x-key']),
  );
  const refused = await http.post(initialize(), { origin });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('access-control-allow-origin')).toBe(origin);
  expect(refused.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
});

test('anyone may read the metadata document, from any page', async () => {
  const http = gated();
  const response = await http.send('GET', DOCUMENT, { origin: 'https://anyone.example' });
  expect(response.status).toBe(200);
  expect(await body(response)).toEqual({ thing: true });
  expect(Object.fromEntries(response.headers)).toEqual({
    'access-control-allow-origin': '*',
    'cache-control': 'public, max-age=3600',
    'content-type': 'application/json',
  });
  expect((await http.send('HEAD', DOCUMENT)).status).toBe(200);
  const preflight = await http.send('OPTIONS', DOCUMENT, { origin: 'https://anyone.example' });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS');
  expect(preflight.headers.get('access-control-allow-headers')).toBe('*');
  const wrong = await http.send('POST', DOCUMENT);
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  expect((await http.send('GET', DOCUMENT, { host: 'evil.example' })).status).toBe(403);
});

test('the service gets the caller, but never the credential', async () => {
  const http = gated({ credentialHeaders: new Set(['x-key']) });
  const session = await sessionOf(http, 'ada read');
  await http.post(request(1, 'echo'), { ...session, ...as('ada read'), 'x-key': 'secret', 'x-other': 'seen' });
  const { caller, header } = seen.at(-1)!;
  expect([caller.principal, caller.auth]).toEqual(['ada', { principal: 'ada', scopes: ['read'] }]);
  expect(['authorization', 'x-key', 'x-other'].map((name) => header?.(name))).toEqual([undefined, undefined, 'seen']);
});

test('the authenticator overrides an earlier caller', async () => {
  const http = gated();
  const headers = { ...POST_HEADERS, ...as('ada') };
  const opened = new Request('http://localhost/mcp', { method: 'POST', headers, body: JSON.stringify(initialize()) });
  const response = await http.fetch(opened, { principal: 'root' });
  const session = { 'mcp-session-id': response.headers.get('mcp-session-id')! };
  await http.post(request(1, 'echo'), { ...session, ...as('ada') });
  expect(seen.at(-1)?.caller.principal).toBe('ada');
});

test('the body is read only after authentication', async () => {
  const known = deferred<AuthInfo>();
  const http = gated({ authenticate: () => known.promise });
  let read = false;
  const stream = new ReadableStream(
    {
      pull(controller) {
        read = true;
        controller.enqueue(new TextEncoder().encode(JSON.stringify(initialize())));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const opened = http.fetch(
    new Request('http://localhost/mcp', { method: 'POST', headers: POST_HEADERS, body: stream, duplex: 'half' }),
  );
  await new Promise((resolve) => void setImmediate(resolve));
  expect(read).toBe(false);
  known.resolve({ principal: 'a', scopes: [] });
  expect((await opened).status).toBe(200);
});

test.each([
  [
    'throws',
    () => {
      throw new Error('no database');
    },
  ],
  ['rejects', () => Promise.reject(new Error('no database'))],
])('if the authenticator %s, the call can be repeated and the error is reported', async (_how, authenticate) => {
  const http = gated({ authenticate });
  const response = await http.post(initialize());
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await response.text()).not.toContain('database');
  expect(http.errors.map(({ message }) => message)).toEqual(['no database']);
});

test('a path gives the same refusal after a slow authenticator', async () => {
  const http = gated({ authenticate: () => Promise.resolve({ principal: 'a', scopes: [] }) });
  const response = await http.send('GET', '/mcp', { accept: 'text/event-stream' });
  expect(response.status).toBe(400);
  expect(http.errors).toEqual([]);
});

test.each(['POST', 'GET'])(
  'a caller is refused if the handler was closed during authentication: %s',
  async (method) => {
    const known = deferred<AuthInfo>();
    const http = gated({ authenticate: () => known.promise });
    const response = method === 'POST' ? http.post(initialize()) : http.send(method, '/mcp');
    await http.handler.close();
    known.resolve({ principal: 'a', scopes: [] });
    expect((await response).status).toBe(503);
  },
);

test.each(['GET /sse', 'POST /mcp'])(
  'a client that disconnects during authentication opens no session: %s',
  async (target) => {
    const pendingCall = deferred<HttpCall>();
    const known = deferred<AuthInfo>();
    const auth = testAuth({
      authenticate: (call) => {
        pendingCall.resolve(call);
        return known.promise;
      },
    });
    let sessions = 0;
    const listener = await listen({ port: 0, auth, onsession: () => void (sessions += 1) });
    onTestFinished(() => listener.close(0));
    const json = JSON.stringify(initialize());
    const socket = connectSocket(listener.port, '127.0.0.1');
    const head = [`${target} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json'];
    socket.write(`${[...head, `Content-Length: ${json.length}`].join('\r\n')}\r\n\r\n${json}`);
    const call = await pendingCall.promise;
    expect(call.gone).toBe(false);
    socket.destroy();
    await vi.waitFor(() => expect(call.gone).toBe(true));
    known.resolve({ principal: 'a', scopes: [] });
    await new Promise((resolve) => void setImmediate(resolve));
    expect([sessions, listener.handler.sessions]).toEqual([0, 0]);
  },
);

test.each(['2025-06-18', '2025-11-25'])(
  'a request without a required scope is refused with its id in %s',
  async (revision) => {
    const http = gated();
    const session = await sessionOf(http, 'ada a', revision);
    const count = seen.length;
    const response = await http.post(request(7, 'need/a/b'), { ...session, ...as('ada a') });
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="a b"');
    expect(await body(response)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32000, message: 'The credential does not have all the scopes that this needs: a b' },
    });
    expect(seen.length).toBe(count);
    // The id can be used again, and new scopes count at once.
    const again = await http.post(request(7, 'need/a/b'), { ...session, ...as('ada a b') });
    expect([again.status, await body(again)]).toEqual([200, { jsonrpc: '2.0', id: 7, result: {} }]);
  },
);

test('a request without a required scope is refused in 2026-07-28', async () => {
  const { onrequest } = createInbound(service);
  const http = gated({}, { onrequest });
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const call = (credential: string): Promise<Response> =>
    http.post(request('x', 'need/a', { _meta: meta }), {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'need/a',
      ...as(credential),
    });
  const refused = await call('ada');
  expect(refused.status).toBe(403);
  expect(refused.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="a"');
  expect((await body(refused)).id).toBe('x');
  expect((await call('ada a')).status).toBe(200);
});

test('a batch with a request without a required scope is refused completely, with all required scopes', async () => {
  const http = gated();
  const session = await sessionOf(http, 'ada c', '2025-03-26');
  const count = seen.length;
  const batch = [request(1, 'need/c'), { jsonrpc: '2.0', method: 'notifications/x' }, request(2, 'need/a'), 'junk'];
  const response = await http.post(batch, { ...session, ...as('ada c') });
  expect(response.status).toBe(403);
  expect(response.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="c a"');
  expect(await body(response)).toEqual([
    { jsonrpc: '2.0', id: 1, error: { code: -32000, message: expect.stringContaining('another request') } },
    {
      jsonrpc: '2.0',
      id: 2,
      error: { code: -32000, message: expect.stringContaining('does not have all the scopes') },
    },
  ]);
  expect(seen.length).toBe(count);
  const good = await http.post([request(1, 'need/c'), request(2, 'need/a')], { ...session, ...as('ada a c') });
  expect(good.status).toBe(200);
  expect(await body(good)).toHaveLength(2);
});

test('a message over HTTP+SSE is refused with the same status', async () => {
  const http = gated();
  const events = new Events(await http.send('GET', '/sse', as('ada')));
  const address = (await events.next())!.data!;
  const post = (message: unknown, credential: string): Promise<Response> =>
    http.send('POST', address, { ...POST_HEADERS, ...as(credential) }, JSON.stringify(message));
  expect((await post(initialize('2024-11-05'), 'ada')).status).toBe(202);
  await events.message();
  const refused = await post(request(1, 'need/a'), 'ada');
  expect([refused.status, (await body(refused)).id]).toEqual([403, 1]);
  expect((await post(request(1, 'need/a'), 'bob a')).status).toBe(404);
  expect((await post(request(1, 'need/a'), 'ada a')).status).toBe(202);
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  await events.cancel();
});

test('an invalid message is refused as invalid, whoever the caller is', async () => {
  const http = gated();
  const session = await sessionOf(http, 'ada');
  for (const malformed of [{ id: 1, method: 'need/a' }, { jsonrpc: '2.0', id: {}, method: 'need/a' }, 7, null]) {
    expect((await http.post(malformed, { ...session, ...as('ada') })).status).toBe(400);
  }
});

test('a request does not run if its required scopes cannot be determined', async () => {
  const scopes = (): never => {
    throw new Error('lost the list');
  };
  const http = gated({}, { scopesFor: scopes });
  const response = await http.post(initialize(), as('ada'));
  expect(response.status).toBe(500);
  expect(http.errors.map(({ message }) => message)).toEqual(['lost the list']);
});

test('without an authenticator, scopes are compared with those from the framework, if any', async () => {
  const http = new TestHttp(service, { scopesFor });
  const call = (authInfo?: AuthInfo): Promise<Response> => {
    const text = JSON.stringify(request(1, 'need/a'));
    const sent = new Request('http://localhost/mcp', { method: 'POST', headers: POST_HEADERS, body: text });
    return http.fetch(sent, { authInfo } as { principal?: string });
  };
  const refused = await call({ principal: 'ada', scopes: [] });
  expect(refused.status).toBe(403);
  expect(refused.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="a"');
  // Accepted here, and refused later because it has no session.
  expect((await call({ principal: 'ada', scopes: ['a'] })).status).toBe(400);
  expect((await call()).status).toBe(400);
});

test('the session of one caller does not exist for another, with any HTTP method', async () => {
  const http = gated();
  const session = await sessionOf(http, 'ada');
  const stream = await http.send('GET', '/mcp', { ...session, ...as('ada'), accept: 'text/event-stream' });
  const events = new Events(stream);
  const eventId = (await events.next())!.id!;
  const missing = { 'mcp-session-id': 'no-such-session' };
  const requestsOfAnother = (headers: Record<string, string>): Promise<Response>[] => [
    http.post(request(1, 'echo'), { ...headers, ...as('bob') }),
    http.post(request(1, 'echo'), { ...headers, ...as('bob'), 'mcp-protocol-version': '1999-01-01' }),
    http.send('GET', '/mcp', { ...headers, ...as('bob'), accept: 'text/event-stream' }),
    http.send('GET', '/mcp', { ...headers, ...as('bob'), accept: 'text/event-stream', 'last-event-id': eventId }),
    http.send('DELETE', '/mcp', { ...headers, ...as('bob') }),
  ];
  const repliesTo = async (responses: Promise<Response>[]): Promise<unknown[]> =>
    Promise.all(
      responses.map(async (answer) => {
        const response = await answer;
        return [response.status, [...response.headers], await response.text()];
      }),
    );
  const theirs = await repliesTo(requestsOfAnother(session));
  expect(theirs.map((each) => (each as unknown[])[0])).toEqual([404, 404, 404, 404, 404]);
  expect(theirs).toEqual(await repliesTo(requestsOfAnother(missing)));
  const still = await http.post(request(2, 'echo'), { ...session, ...as('ada') });
  expect(still.status).toBe(200);
  await events.cancel();
});
