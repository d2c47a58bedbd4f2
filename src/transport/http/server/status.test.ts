import { expect, test } from 'vitest';
import { POST_HEADERS, TestHttp, initialize } from '../../../../test/support/http.ts';
import { deferred, scripted } from '../../../../test/support/service.ts';
import { hostGuard } from './access/guards.ts';

const { service } = scripted();
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

test.each([
  ['a foreign Host', { host: 'evil.example' }, 403],
  ['a Host with user information', { host: 'localhost@evil.example' }, 403],
  ['a foreign Origin', { origin: 'https://evil.example' }, 403],
  ['the Origin null', { origin: 'null' }, 403],
  ['another content type', { 'content-type': 'text/plain' }, 415],
  ['a compressed body', { 'content-encoding': 'gzip' }, 415],
  ['a body that is compressed twice', { 'content-encoding': 'identity, br' }, 415],
  ['no content type', { 'content-type': undefined }, 415],
  ['an Accept of JSON only', { accept: 'application/json' }, 406],
  ['an Accept of event streams only', { accept: 'text/event-stream' }, 406],
  ['an Accept that excludes one of the two', { accept: 'application/json, text/event-stream;q=0' }, 406],
])('POST with %s is refused and opens no session', async (_, headers, status) => {
  const http = new TestHttp(service);
  const response = await http.post(initialize(), headers);
  expect(response.status).toBe(status);
  expect(await response.json()).toEqual({ jsonrpc: '2.0', error: { code: -32000, message: expect.any(String) } });
  expect(http.handler.sessions).toBe(0);
});

test.each([
  ['a local Origin', { origin: 'http://localhost:5173' }],
  ['a content type with a charset', { 'content-type': 'Application/JSON; charset=utf-8' }],
  ['the content encoding "identity"', { 'content-encoding': 'Identity' }],
  ['an Accept of anything', { accept: '*/*' }],
  ['an Accept of both kinds by wildcards', { accept: 'application/*, text/*;q=0.5' }],
  ['no Accept', { accept: undefined }],
])('POST with %s is answered', async (_, headers) => {
  expect((await new TestHttp(service).post(initialize(), headers)).status).toBe(200);
});

test('the refusal of a compressed body says to send it uncompressed', async () => {
  const response = await new TestHttp(service).post(initialize(), { 'content-encoding': 'gzip' });
  expect(response.headers.get('accept-encoding')).toBe('identity');
  expect(await response.text()).toContain('uncompressed');
});

test.each(['2025-11-25', '2024-11-05', '2026-07-28'])(
  'initialize with MCP-Protocol-Version %j is answered',
  async (version) => {
    const response = await new TestHttp(service).post(initialize(), { 'mcp-protocol-version': version });
    expect(response.status).toBe(200);
  },
);

test.each(['2099-01-01', '', '__proto__', '2025-06-18, 2025-06-18'])(
  'initialize with the unknown MCP-Protocol-Version %j is refused',
  async (version) => {
    const http = new TestHttp(service);
    const response = await http.post({ ...initialize(), id: 'i' }, { 'mcp-protocol-version': version });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 'i', error: { code: -32600 } });
    expect(http.handler.sessions).toBe(0);
  },
);

test('hosts and origins are allowed by name', async () => {
  const http = new TestHttp(service, { allowedHosts: ['mcp.example'], allowedOrigins: ['https://app.example/'] });
  const headers = { host: 'mcp.example:8443', origin: 'https://app.example' };
  expect((await http.post(initialize(), headers)).status).toBe(200);
  expect((await http.post(initialize(), { ...headers, host: 'mcp.example.evil' })).status).toBe(403);
  expect((await http.post(initialize(), { ...headers, origin: 'https://app.example.evil' })).status).toBe(403);
  expect((await http.post(initialize(), { host: '192.0.2.1' })).status).toBe(403);
});

test.each(['local\thost', 'localhost#', 'localhost?', 'localhost/', 'localhost\\', 'local%68ost', 'x@localhost', ''])(
  'an invalid Host is refused: %j',
  (host) => {
    expect(hostGuard({})(host)).toBe(false);
  },
);

test.each(['localhost', 'LOCALHOST:8000', 'localhost:', '127.0.0.1:80', '[::1]:8000', 'app.localhost'])(
  'a Host on this machine is allowed: %j',
  (host) => {
    expect(hostGuard({})(host)).toBe(true);
  },
);

test.each([
  ['PUT', '/mcp', 'GET, POST, DELETE'],
  ['OPTIONS', '/mcp', 'GET, POST, DELETE'],
  ['POST', '/sse', 'GET'],
  ['GET', '/messages', 'POST'],
])('%s %s gets 405 and the allowed methods', async (method, path, allow) => {
  const response = await new TestHttp(service).send(method, path);
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe(allow);
});

test('an unknown path gets 404', async () => {
  expect((await new TestHttp(service).send('GET', '/other')).status).toBe(404);
  expect((await new TestHttp(service, { ssePath: false }).send('GET', '/sse')).status).toBe(404);
  expect((await new TestHttp(service, { ssePath: false }).send('POST', '/messages')).status).toBe(404);
});

test('notifications and responses get 202 and no body', async () => {
  const session = await new TestHttp(service).open();
  for (const message of [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 77, result: {} },
    { jsonrpc: '2.0', id: 78, error: { code: 1, message: 'no' } },
    { jsonrpc: '2.0', id: null, error: { code: 1, message: 'no' } },
  ]) {
    const response = await session.post(message);
    expect(response.status).toBe(202);
    expect(await response.text()).toBe('');
  }
});

test.each([
  ['not JSON', '{"jsonrpc":', -32700, undefined],
  ['an empty body', '', -32700, undefined],
  ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), -32700, undefined],
  ['a scalar', '5', -32600, undefined],
  ['an empty batch', '[]', -32600, undefined],
  ['the wrong version', '{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7],
  ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, undefined],
  ['a fractional id', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, undefined],
  ['params that are an array', '{"jsonrpc":"2.0","id":"x","method":"ping","params":[]}', -32600, 'x'],
])('a body that is %s gets 400 with a JSON-RPC error', async (_, body, code, id) => {
  const session = await new TestHttp(service).open();
  const response = await session.post(body);
  expect(response.status).toBe(400);
  const error = { code, message: expect.any(String) };
  expect(await response.json()).toEqual(id === undefined ? { jsonrpc: '2.0', error } : { jsonrpc: '2.0', id, error });
});

test('a body above the size limit gets 413', async () => {
  const http = new TestHttp(service, { maxBodyBytes: 1000 });
  const session = await http.open();
  expect((await session.call(1, 'echo', { text: 'x'.repeat(1000) })).status).toBe(413);
  expect((await session.call(1, 'echo', { text: 'x'.repeat(800) })).status).toBe(200);
});

test('a request without a session id gets 400, except initialize', async () => {
  const http = new TestHttp(service);
  expect((await http.post(ping)).status).toBe(400);
  expect((await http.post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(400);
  expect((await http.post([ping])).status).toBe(400);
  expect((await http.send('GET', '/mcp', { accept: 'text/event-stream' })).status).toBe(400);
  expect((await http.send('DELETE', '/mcp')).status).toBe(400);
  expect((await http.post(initialize())).status).toBe(200);
});

test('an unknown session gets 404 for every method', async () => {
  const http = new TestHttp(service);
  const headers = { 'mcp-session-id': 'unknown' };
  expect((await http.post(ping, headers)).status).toBe(404);
  expect((await http.post(initialize(), headers)).status).toBe(404);
  expect((await http.send('GET', '/mcp', headers)).status).toBe(404);
  expect((await http.send('DELETE', '/mcp', headers)).status).toBe(404);
});

test('a GET must accept event streams', async () => {
  const session = await new TestHttp(service).open();
  const get = (accept: string): Promise<Response> => session.http.send('GET', '/mcp', { ...session.headers, accept });
  expect((await get('application/json')).status).toBe(406);
  const response = await get('*/*');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect((await session.http.send('GET', '/sse', { accept: 'application/json' })).status).toBe(406);
});

test.each([
  ['2025-11-25', '2025-11-25', 200],
  ['2025-11-25', '2025-06-18', 400],
  ['2025-11-25', 'nonsense', 400],
  // The session knows its revision.
  ['2025-11-25', undefined, 200],
  ['2025-06-18', '2025-06-18', 200],
  ['2025-06-18', '2025-11-25', 400],
  ['2025-03-26', undefined, 200],
  ['2025-03-26', '2025-03-26', 200],
  // These revisions have no such header, so only an unknown revision is refused.
  ['2025-03-26', '2025-11-25', 200],
  ['2024-11-05', 'nonsense', 400],
])('in a session of %s, MCP-Protocol-Version %s is answered with %i', async (revision, version, status) => {
  const session = await new TestHttp(service).open(revision);
  const response = await session.post(ping, { 'mcp-protocol-version': version });
  expect(response.status).toBe(status);
  await response.text();
});

test('a closed handler answers 503, also to requests in progress', async () => {
  const http = new TestHttp(service);
  const slow = deferred();
  const body = new ReadableStream({
    async pull(controller) {
      await slow.promise;
      controller.enqueue(new TextEncoder().encode(JSON.stringify(initialize())));
      controller.close();
    },
  });
  const pending = http.fetch(
    new Request('http://localhost/mcp', { method: 'POST', headers: POST_HEADERS, body, duplex: 'half' }),
  );
  await http.handler.close();
  expect((await http.post(initialize())).status).toBe(503);
  slow.resolve();
  expect((await pending).status).toBe(503);
  expect(http.handler.sessions).toBe(0);
});

test('a request gets 404 if its session ended while its body arrived', async () => {
  const session = await new TestHttp(service).open();
  const slow = deferred();
  const body = new ReadableStream({
    async pull(controller) {
      await slow.promise;
      controller.enqueue(new TextEncoder().encode(JSON.stringify(ping)));
      controller.close();
    },
  });
  const headers = { ...POST_HEADERS, 'mcp-session-id': session.id };
  const pending = session.http.fetch(
    new Request('http://localhost/mcp', { method: 'POST', headers, body, duplex: 'half' }),
  );
  await session.delete();
  slow.resolve();
  expect((await pending).status).toBe(404);
});
