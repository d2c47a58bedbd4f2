import { expect, test } from 'vitest';
import { Events, TestHttp, initialize } from '../../../../../test/support/http.ts';
import { scripted } from '../../../../../test/support/service.ts';

const { service } = scripted();
const origin = 'https://app.example';
const options = { allowedOrigins: [origin] };
const asked = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'mcp-session-id' };

const cors = (response: Response): unknown[] =>
  ['access-control-allow-origin', 'access-control-expose-headers', 'vary'].map((name) => response.headers.get(name));
const readable = [origin, 'Mcp-Session-Id, WWW-Authenticate', 'Origin'];
const unreadable = [null, null, null];

test.each(['/mcp', '/sse', '/messages'])('a preflight tells a browser what a page may send to %s', async (path) => {
  const response = await new TestHttp(service, options).send('OPTIONS', path, asked);
  expect(response.status).toBe(204);
  expect(cors(response)).toEqual(readable);
  expect(response.headers.get('access-control-allow-methods')).toBe('GET, POST, DELETE');
  expect(response.headers.get('access-control-allow-headers')?.split(', ')).toEqual([
    'content-type',
    'accept',
    'authorization',
    'mcp-session-id',
    'mcp-protocol-version',
    'last-event-id',
    'mcp-method',
    'mcp-name',
  ]);
});

test('a page may send the Mcp-Param headers that its preflight requests', async () => {
  const headers = {
    ...asked,
    'access-control-request-headers': 'Mcp-Param-Region, mcp-param-x y, x-other,mcp-param-db',
  };
  const response = await new TestHttp(service, options).send('OPTIONS', '/mcp', headers);
  const allowed = response.headers.get('access-control-allow-headers')?.split(', ');
  expect(allowed?.slice(-3)).toEqual(['mcp-name', 'mcp-param-region', 'mcp-param-db']);
});

test('a page may read responses, streams and errors', async () => {
  const http = new TestHttp(service, options);
  const opened = await http.post(initialize(), { origin });
  expect([opened.status, ...cors(opened)]).toEqual([200, ...readable]);
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')!, origin };
  const stream = await http.send('GET', '/mcp', { ...session, accept: 'text/event-stream' });
  expect([stream.headers.get('content-type'), ...cors(stream)]).toEqual(['text/event-stream', ...readable]);
  await new Events(stream).cancel();
  const old = await http.send('GET', '/sse', { origin });
  expect(cors(old)).toEqual(readable);
  await new Events(old).cancel();
  for (const [status, refused] of [
    [400, await http.post('{', session)],
    [404, await http.post(initialize(), { ...session, 'mcp-session-id': 'gone' })],
    [404, await http.send('GET', '/other', { origin })],
    [405, await http.send('PUT', '/mcp', { origin })],
    [405, await http.send('OPTIONS', '/mcp', { origin })],
    [406, await http.post(initialize(), { origin, accept: 'text/html' })],
  ] as const) {
    expect([refused.status, ...cors(refused)]).toEqual([status, ...readable]);
  }
});

test.each(['http://localhost:5173', 'https://evil.example'])('a page of %s is refused', async (other) => {
  for (const given of [{}, options]) {
    const http = new TestHttp(service, given);
    expect(cors(await http.post(initialize(), { origin: other }))).toEqual(unreadable);
    const response = await http.send('OPTIONS', '/mcp', { ...asked, origin: other });
    expect([405, 403]).toContain(response.status);
    expect(cors(response)).toEqual(unreadable);
  }
});

test('if any origin is allowed, the response names the origin of the request', async () => {
  const response = await new TestHttp(service, { allowedOrigins: ['*'] }).post(initialize(), { origin });
  expect(cors(response)).toEqual(readable);
});

test('other clients get no CORS headers', async () => {
  expect(cors(await new TestHttp(service, options).post(initialize()))).toEqual(unreadable);
});
