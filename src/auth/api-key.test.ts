import { inspect } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { POST_HEADERS, TestHttp, initialize } from '../../test/support/http.ts';
import { scripted } from '../../test/support/service.ts';
import type { AuthInfo } from '../protocol/types.ts';
import type { HttpHandlerOptions } from '../transport/http/server/handler.ts';
import { apiKeyAuth, type ApiKeyAuthOptions } from './api-key.ts';

const ADA = 'ada-key-0123456789abcdef';
const BOB = 'bob-key-0123456789abcdef';
const keys = { [ADA]: 'ada', [BOB]: { principal: 'bob', scopes: ['files:write'] } };

const { service, seen } = scripted({ 'files/write': () => ({}) });
const over = (options: ApiKeyAuthOptions): TestHttp =>
  new TestHttp(service, {
    auth: apiKeyAuth(options),
    scopesFor: ({ method }) => (method === 'files/write' ? ['files:write'] : []),
  });
const status = async (http: TestHttp, headers: Record<string, string>): Promise<number> =>
  (await http.post(initialize(), headers)).status;

test.each([
  ['authorization', `Bearer ${ADA}`],
  ['authorization', `bearer ${ADA}`],
  ['x-api-key', ADA],
])('a key in %s is accepted', async (name, value) => {
  expect(await status(over({ keys }), { [name]: value })).toBe(200);
});

test('the header may have another name, and is hidden from the service as well', async () => {
  const http = over({ keys, header: 'X-My-Key' });
  const headers = { 'x-my-key': ADA };
  expect(await status(http, { 'x-api-key': ADA })).toBe(401);
  const opened = await http.post(initialize(), headers);
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
  await http.post({ jsonrpc: '2.0', id: 1, method: 'echo' }, { ...session, ...headers });
  expect(seen.at(-1)?.caller.principal).toBe('ada');
  expect(seen.at(-1)?.caller.auth?.scopes).toEqual([]);
  expect(seen.at(-1)?.header?.('x-my-key')).toBeUndefined();
});

test('Authorization can be the only accepted header', async () => {
  const http = over({ keys, header: false });
  expect(await status(http, { 'x-api-key': ADA })).toBe(401);
  expect(await status(http, { authorization: `Bearer ${ADA}` })).toBe(200);
});

test.each<[Record<string, string>, string | undefined, string]>([
  [{ 'x-api-key': `${ADA}0` }, undefined, 'The API key is not valid'],
  [{ authorization: `Bearer ${ADA}0` }, undefined, 'The bearer token is not valid'],
  [{ authorization: `Bearer ${ADA}0` }, 'none', 'The bearer token is not valid'],
  [{ authorization: 'Bearer' }, undefined, 'The headers must contain exactly one API key'],
  [{}, undefined, 'An API key is required'],
  [{ 'x-api-key': ADA }, 'none', 'A bearer token is required'],
  [{ authorization: ADA }, undefined, 'An API key is required, and the Authorization header does not begin with'],
])('a refusal says what kind of credential was sent: %j, header %s', async (headers, header, message) => {
  const response = await over({ keys, ...(header === 'none' && { header: false }) }).post(initialize(), headers);
  expect(JSON.stringify(await response.json())).toContain(message);
});

test.each<[number, Record<string, string>, string]>([
  [401, {}, 'Bearer realm="mcp"'],
  [401, { authorization: 'Basic YQ==' }, 'Bearer realm="mcp"'],
  [401, { 'x-api-key': `${ADA}0` }, 'Bearer realm="mcp", error="invalid_token"'],
  [401, { authorization: `Bearer ${ADA.slice(1)}` }, 'Bearer realm="mcp", error="invalid_token"'],
  [401, { 'x-api-key': 'constructor' }, 'Bearer realm="mcp", error="invalid_token"'],
  [400, { 'x-api-key': `${ADA}, ${ADA}` }, 'Bearer realm="mcp", error="invalid_request"'],
  [400, { 'x-api-key': '' }, 'Bearer realm="mcp", error="invalid_request"'],
  [400, { authorization: `Bearer ${ADA}, Bearer ${ADA}` }, 'Bearer realm="mcp", error="invalid_request"'],
  [400, { authorization: `Bearer ${ADA}`, 'x-api-key': BOB }, 'Bearer realm="mcp", error="invalid_request"'],
])('a request is refused with status %i for the headers %j', async (expected, headers, challenge) => {
  const response = await over({ keys }).post(initialize(), headers);
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([expected, challenge]);
});

test('the same key in both headers counts as one key', async () => {
  expect(await status(over({ keys }), { authorization: `Bearer ${ADA}`, 'x-api-key': ADA })).toBe(200);
});

test('a caller has the scopes of its key', async () => {
  const http = over({ keys });
  const write = async (key: string): Promise<Response> => {
    const opened = await http.post(initialize(), { 'x-api-key': key });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
    return http.post({ jsonrpc: '2.0', id: 1, method: 'files/write' }, { ...session, 'x-api-key': key });
  };
  expect((await write(BOB)).status).toBe(200);
  const refused = await write(ADA);
  expect(refused.status).toBe(403);
  expect(refused.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="files:write"');
  expect(await status(over({ keys, scopes: ['files:write'] }), { 'x-api-key': ADA })).toBe(403);
  const implied = { [ADA]: { principal: 'ada', scopes: ['admin'] } };
  const options = { keys: implied, scopes: ['files:write'], implies: { admin: ['files:write'] } };
  expect(await status(over(options), { 'x-api-key': ADA })).toBe(200);
});

test('a key is accepted until it expires', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const http = over({ keys: { [ADA]: { principal: 'ada', scopes: [], expiresAt: 2000 } } });
  vi.setSystemTime(1_999_999);
  expect(await status(http, { 'x-api-key': ADA })).toBe(200);
  vi.setSystemTime(2_000_000);
  expect(await status(http, { 'x-api-key': ADA })).toBe(401);
});

test.each([
  ['DELETE', '/mcp'],
  ['GET', '/mcp'],
  ['GET', '/page'],
])('a caller without the scope that every request needs is refused: %s %s', async (method, path) => {
  const pages: HttpHandlerOptions['pages'] = (at) =>
    at === '/page' ? { requiresAuth: true, answer: (call) => call.respond(200, {}) } : undefined;
  const http = new TestHttp(service, { auth: apiKeyAuth({ keys, scopes: ['files:write'] }), pages });
  const refused = await http.send(method, path, { 'x-api-key': ADA });
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    403,
    'Bearer error="insufficient_scope", scope="files:write"',
  ]);
  expect((await http.send(method, path, { 'x-api-key': BOB })).status).not.toBe(403);
});

test('a key that is too long is refused', async () => {
  expect(await status(over({ keys }), { 'x-api-key': 'a'.repeat(16 * 1024) })).toBe(401);
  expect(await status(over({ keys }), { 'x-api-key': 'a'.repeat(16 * 1024 + 1) })).toBe(400);
  expect(() => apiKeyAuth({ keys: { ['a'.repeat(16 * 1024)]: 'ada' } })).not.toThrow();
  expect(() => apiKeyAuth({ keys: { ['a'.repeat(16 * 1024 + 1)]: 'ada' } })).toThrow('must consist');
});

test.each([
  ['at once', (auth: AuthInfo | undefined) => auth],
  ['later', (auth: AuthInfo | undefined) => Promise.resolve(auth)],
])('a custom verify function returns the owner of a key %s', async (_when, answer) => {
  const http = over({ verify: (key) => answer(key === ADA ? { principal: 'ada', scopes: [] } : undefined) });
  expect(await status(http, { 'x-api-key': ADA })).toBe(200);
  expect(await status(http, { 'x-api-key': BOB })).toBe(401);
});

test.each<[string, string, ApiKeyAuthOptions['verify']]>([
  [
    'throws',
    'no [redacted]',
    (key) => {
      throw new Error(`no ${key}`);
    },
  ],
  ['rejects', 'no [redacted]', (key) => Promise.reject(Object.assign(new Error(`no ${key}`), { key }))],
  ['returns no principal', 'verify returned no principal', () => ({}) as AuthInfo],
  ['returns no principal later', 'verify returned no principal', () => Promise.resolve({} as AuthInfo)],
])('if the verify function %s, no response and no error contains the key', async (_how, why, verify) => {
  const http = over({ verify });
  const response = await http.post(initialize(), { 'x-api-key': ADA });
  expect(response.status).toBe(503);
  expect(await response.text()).not.toContain(ADA);
  expect(http.errors.map(({ message }) => message)).toEqual([`The credential cannot be checked: ${why}`]);
  expect(inspect(http.errors, { depth: Infinity, showHidden: true })).not.toContain(ADA);
});

test('a session opened with one key does not exist for another key', async () => {
  const http = over({ keys });
  const opened = await http.post(initialize(), { 'x-api-key': ADA });
  const session = { ...POST_HEADERS, 'mcp-session-id': opened.headers.get('mcp-session-id')! };
  expect((await http.send('DELETE', '/mcp', { ...session, 'x-api-key': BOB })).status).toBe(404);
  expect((await http.send('DELETE', '/mcp', { ...session, 'x-api-key': ADA })).status).toBe(204);
});

test.each<[string, ApiKeyAuthOptions]>([
  ['Set exactly one', {}],
  ['Set exactly one', { keys, verify: () => undefined }],
  ['valid header name', { keys, header: 'not a name' }],
  ['must consist', { keys: { 'secret key': 'ada' } }],
  ['must consist', { keys: { '': 'ada' } }],
  ['a principal for each key', { keys: { secret: '' } }],
  ['a principal for each key', { keys: { secret: { principal: 'ada' } as AuthInfo } }],
  ['a principal for each key', { keys: { secret: null as unknown as string } }],
])('invalid options are refused with an error that does not contain a key: %s', (problem, options) => {
  expect(() => apiKeyAuth(options)).toThrow(problem);
  expect(() => apiKeyAuth(options)).not.toThrow('secret');
});
