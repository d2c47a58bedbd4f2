import { request as httpRequest } from 'node:http';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { POST_HEADERS, initialize } from '../../test/support/http.ts';
import { TestIssuer } from '../../test/support/issuer.ts';
import { scripted } from '../../test/support/service.ts';
import type { AuthInfo } from '../protocol/types.ts';
import { listen, type ListenOptions } from '../transport/http/server/listen.ts';
import { createInbound } from '../wire/serve.ts';
import { bearerAuth, type BearerAuthOptions } from './bearer.ts';
import { scrubber } from './scrub.ts';
import { InvalidToken, type TokenVerifier } from './token-verifier.ts';

vi.mock(import('./scrub.ts'), { spy: true });

const RESOURCE = 'https://mcp.example.com/mcp';
const METADATA = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';
const SERVERS = { authorizationServers: ['https://issuer.example'] };

let issuer: TestIssuer;
beforeAll(async () => {
  issuer = await TestIssuer.start();
});
afterAll(() => issuer.close());

interface Reached {
  readonly base: string;
  readonly errors: Error[];
  post: (credential: string | undefined, body?: unknown, path?: string) => Promise<Response>;
}

/** Serves a server that needs a token, over real HTTP. */
async function serving(options: BearerAuthOptions, more: Partial<ListenOptions> = {}): Promise<Reached> {
  const { service } = scripted({
    'files/write': () => ({ written: true }),
    whoami: ({ caller }) => ({ principal: caller.principal, scopes: caller.auth?.scopes }),
  });
  const inbound = createInbound(service);
  const errors: Error[] = [];
  const listener = await listen({
    port: 0,
    onsession: inbound.onsession,
    onrequest: inbound.onrequest,
    onerror: (error) => void errors.push(error),
    auth: bearerAuth(options),
    scopesFor: ({ method }) => (method === 'files/write' ? ['files:write'] : []),
    ...more,
  });
  onTestFinished(() => listener.close(0));
  const base = `http://127.0.0.1:${listener.port}`;
  const post: Reached['post'] = (credential, body = initialize(), path = '/mcp') =>
    fetch(base + path, {
      method: 'POST',
      headers: { ...POST_HEADERS, ...(credential !== undefined && { authorization: credential }) },
      body: JSON.stringify(body),
    });
  return { base, errors, post };
}

const jwt = (options: Partial<BearerAuthOptions> = {}): BearerAuthOptions =>
  ({ resource: RESOURCE, issuer: issuer.url, scopes: ['mcp'], ...options }) as BearerAuthOptions;
const statusAndBody = async (response: Response): Promise<unknown[]> => {
  const { error } = (await response.json()) as { error: { message: string } };
  return [response.status, response.headers.get('www-authenticate'), error.message];
};
/** A request of 2026-07-28. */
const modern = (method: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});

test('without a token, a client learns where to get one and which scopes to request', async () => {
  const { post } = await serving(jwt());
  expect(await statusAndBody(await post(undefined))).toEqual([
    401,
    `Bearer resource_metadata="${METADATA}", scope="mcp"`,
    'An access token is required',
  ]);
  expect(await statusAndBody(await post('Basic YWRhOnNlY3JldA=='))).toEqual([
    401,
    `Bearer resource_metadata="${METADATA}", scope="mcp"`,
    'An access token is required, and the Authorization header does not begin with "Bearer "',
  ]);
});

test('a token in the query is ignored', async () => {
  const { post } = await serving(jwt());
  const token = await issuer.token(RESOURCE, { scope: 'mcp' });
  const [status, challenge] = await statusAndBody(await post(undefined, initialize(), `/mcp?access_token=${token}`));
  expect([status, challenge]).toEqual([401, `Bearer resource_metadata="${METADATA}", scope="mcp"`]);
});

test('a valid token is accepted, also with 2026-07-28', async () => {
  const { post, errors } = await serving(jwt());
  const token = await issuer.token(RESOURCE, { scope: 'mcp' });
  expect((await post(`Bearer ${token}`)).status).toBe(200);
  const response = await post(`bearer ${token}`, modern('files/write'));
  expect(response.status).toBe(403);
  expect(errors).toEqual([]);
});

test.each<[string, () => Promise<string>, string]>([
  ['garbage', () => Promise.resolve('garbage'), 'The access token is not valid'],
  [
    'for another server',
    () => issuer.token('https://other.example'),
    'The access token was not issued for this server',
  ],
  [
    'for the host without the path',
    () => issuer.token('https://mcp.example.com/'),
    'The access token was not issued for this server',
  ],
  ['that has expired', () => issuer.token(RESOURCE, { exp: 1 }), 'The access token has expired'],
])('a token %s is refused with the reason', async (_what, token, why) => {
  const { post } = await serving(jwt());
  expect(await statusAndBody(await post(`Bearer ${await token()}`))).toEqual([
    401,
    `Bearer error="invalid_token", error_description="${why}", resource_metadata="${METADATA}", scope="mcp"`,
    why,
  ]);
});

test('a header without exactly one token is malformed', async () => {
  const { post } = await serving(jwt());
  const why = 'The Authorization header must contain exactly one Bearer token';
  const refusal = [
    400,
    `Bearer error="invalid_request", error_description="${why}", resource_metadata="${METADATA}"`,
    why,
  ];
  expect(await statusAndBody(await post('Bearer'))).toEqual(refusal);
  expect(await statusAndBody(await post('Bearer a b'))).toEqual(refusal);
});

test('a forged token is refused without a search for it, which takes milliseconds for a long one', async () => {
  const { post } = await serving(jwt());
  vi.mocked(scrubber).mockClear();
  expect((await post(`Bearer ${'+/'.repeat(5000)}`)).status).toBe(401);
  expect(scrubber).not.toHaveBeenCalled();
});

test('two Authorization headers are refused, although node:http would keep the first', async () => {
  const { base } = await serving(jwt());
  const token = await issuer.token(RESOURCE, { scope: 'mcp' });
  const status = await new Promise((resolve, reject) => {
    const body = JSON.stringify(initialize());
    const headers = ['Host', 'localhost', 'Content-Type', 'application/json', 'Content-Length', String(body.length)];
    for (let count = 0; count < 2; count += 1) headers.push('Authorization', `Bearer ${token}`);
    const request = httpRequest(`${base}/mcp`, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
    request.end(body);
  });
  expect(status).toBe(400);
});

test('a token without the scope that every request needs is refused', async () => {
  const { post } = await serving(jwt());
  expect(await statusAndBody(await post(`Bearer ${await issuer.token(RESOURCE)}`))).toEqual([
    403,
    `Bearer error="insufficient_scope", scope="mcp", resource_metadata="${METADATA}"`,
    'The credential does not have all the scopes that this needs: mcp',
  ]);
});

test('a request that needs more scopes is refused with the list of all scopes that it needs', async () => {
  const { post } = await serving(jwt());
  const token = await issuer.token(RESOURCE, { scope: 'mcp other' });
  expect(await statusAndBody(await post(`Bearer ${token}`, modern('files/write')))).toEqual([
    403,
    `Bearer error="insufficient_scope", scope="mcp files:write", resource_metadata="${METADATA}"`,
    'The credential does not have all the scopes that this needs: mcp files:write',
  ]);
});

test('a broader scope includes a narrower one, and the service sees both', async () => {
  const { base } = await serving(jwt({ implies: { admin: ['mcp', 'files:write'] } }));
  const authorization = `Bearer ${await issuer.token(RESOURCE, { scope: 'admin' })}`;
  const call = async (method: string): Promise<any> => {
    const headers = { ...POST_HEADERS, authorization, 'mcp-method': method, 'mcp-protocol-version': '2026-07-28' };
    const response = await fetch(`${base}/mcp`, { method: 'POST', headers, body: JSON.stringify(modern(method)) });
    return ((await response.json()) as { result: unknown }).result;
  };
  expect(await call('files/write')).toMatchObject({ written: true });
  expect(await call('whoami')).toMatchObject({
    principal: `${issuer.url}#alice`,
    scopes: ['admin', 'mcp', 'files:write'],
  });
});

test('a token is not called invalid because its issuer is unreachable', async () => {
  const down = await TestIssuer.start();
  const token = await down.token(RESOURCE, { scope: 'mcp' });
  const { post, errors } = await serving(jwt({ issuer: down.url }));
  await down.close();
  const response = await post(`Bearer ${token}`);
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([503, null]);
  expect(errors).toHaveLength(1);
  expect(errors[0]!.message).toContain('/.well-known/oauth-authorization-server');
  const others = await Promise.all([1, 2, 3].map(() => post(`Bearer ${token}`)));
  expect(others.map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(errors).toHaveLength(1);
});

test.each(['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'])(
  'the metadata is served at %s',
  async (path) => {
    const { base } = await serving(
      jwt({
        scopesSupported: ['mcp', 'files:read'],
        resourceName: 'Files',
        resourceDocumentation: 'https://docs.example',
        metadata: { resource_policy_uri: 'https://policy.example', resource: 'https://evil.example' },
      }),
    );
    const response = await fetch(base + path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.json()).toEqual({
      resource: RESOURCE,
      authorization_servers: [issuer.url],
      scopes_supported: ['mcp', 'files:read'],
      bearer_methods_supported: ['header'],
      resource_name: 'Files',
      resource_documentation: 'https://docs.example',
      resource_policy_uri: 'https://policy.example',
    });
  },
);

test('a HEAD request for the metadata gets no body', async () => {
  const { base } = await serving(jwt());
  const response = await fetch(`${base}/.well-known/oauth-protected-resource`, { method: 'HEAD' });
  expect([response.status, await response.text()]).toEqual([200, '']);
});

test('the metadata is not served at other paths', async () => {
  const { base } = await serving(jwt());
  for (const path of ['/.well-known/oauth-protected-resource/other', '/.well-known/oauth-protected-resource/']) {
    expect((await fetch(base + path)).status).toBe(404);
  }
});

test.each([
  ['https://mcp.example.com', 'https://mcp.example.com/.well-known/oauth-protected-resource'],
  ['https://mcp.example.com/', 'https://mcp.example.com/.well-known/oauth-protected-resource'],
  ['https://mcp.example.com/a/b', 'https://mcp.example.com/.well-known/oauth-protected-resource/a/b'],
])('the metadata of %s is served at %s', async (resource, address) => {
  const { post } = await serving({ resource, verify: () => undefined, ...SERVERS });
  expect((await post(undefined)).headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${address}"`);
});

test('a resource without a path may be written with or without the final slash', async () => {
  for (const resource of ['https://mcp.example.com', 'https://mcp.example.com/']) {
    const { post } = await serving({ resource, issuer: issuer.url });
    for (const audience of ['https://mcp.example.com', 'https://mcp.example.com/']) {
      expect((await post(`Bearer ${await issuer.token(audience)}`)).status).toBe(200);
    }
    expect((await post(`Bearer ${await issuer.token(`https://mcp.example.com/mcp`)}`)).status).toBe(401);
  }
});

test('a custom verifier returns the owner of a token', async () => {
  const asked: unknown[] = [];
  const { post } = await serving({
    resource: RESOURCE,
    ...SERVERS,
    verify: (token, call) => {
      asked.push([token, call.path]);
      return token === 'opaque' ? { principal: 'ada', scopes: [] } : undefined;
    },
  });
  expect((await post('Bearer opaque')).status).toBe(200);
  expect((await statusAndBody(await post('Bearer other')))[2]).toBe('The access token is not valid');
  expect(asked).toEqual([
    ['opaque', '/mcp'],
    ['other', '/mcp'],
  ]);
});

test('an expired token is refused, even if a custom verifier accepts it', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const expiresAt = 999_999_995;
  const verify = (): AuthInfo => ({ principal: 'ada', scopes: [], expiresAt });
  const strict = await serving({ resource: RESOURCE, ...SERVERS, verify });
  expect((await statusAndBody(await strict.post('Bearer a')))[2]).toBe('The access token has expired');
  const lenient = await serving({ resource: RESOURCE, ...SERVERS, verify, clockTolerance: 6 });
  expect((await lenient.post('Bearer a')).status).toBe(200);
});

test('a verifier may reject with something that is not an error', async () => {
  const verify = vi.fn<TokenVerifier>().mockRejectedValue('down');
  const { post, errors } = await serving({ resource: RESOURCE, ...SERVERS, verify });
  expect((await post('Bearer a')).status).toBe(503);
  expect(errors.map(({ message }) => message)).toEqual(['The credential cannot be checked: down']);
});

const TOKEN = 'tok.secret-4711';
test.each<[string, number, () => AuthInfo | undefined]>([
  ['refuses the token', 401, () => undefined],
  [
    'refuses with a message',
    401,
    () => {
      throw new InvalidToken(`revoked: ${TOKEN}`);
    },
  ],
  [
    'fails',
    503,
    () => {
      throw Object.assign(new Error(`GET /introspect?token=${TOKEN}`), { config: { headers: { token: TOKEN } } });
    },
  ],
  ['returns no principal', 503, () => ({ principal: '', scopes: [] })],
  ['returns no scopes', 503, () => ({ principal: 'ada' }) as AuthInfo],
])('no response and no error contains the token if its verifier %s', async (_what, status, verify) => {
  const { post, errors } = await serving({ resource: RESOURCE, ...SERVERS, verify });
  const response = await post(`Bearer ${TOKEN}`);
  const all = [...response.headers].flat().join('\n') + (await response.text());
  expect(response.status).toBe(status);
  expect(all).not.toContain(TOKEN);
  expect(errors).toHaveLength(status === 503 ? 1 : 0);
  expect(inspect(errors, { depth: Infinity, showHidden: true })).not.toContain(TOKEN);
});

test.each<[string, Partial<BearerAuthOptions>]>([
  ['absolute', { resource: 'mcp.example.com' }],
  ['https', { resource: 'http://mcp.example.com/mcp' }],
  ['fragment', { resource: `${RESOURCE}#here` }],
  ['query', { resource: `${RESOURCE}?a=b` }],
  ['at least one', { authorizationServers: [] }],
  ['https', { authorizationServers: ['http://issuer.example'] }],
  ['offline_access', { scopes: ['offline_access'] }],
  ['Not a scope', { scopesSupported: ['a b'] }],
  ['clockTolerance', { clockTolerance: -1 }],
])('invalid options are refused: %s', (problem, options) => {
  const verify = (): undefined => undefined;
  expect(() => bearerAuth({ resource: RESOURCE, ...SERVERS, verify, ...options })).toThrow(problem);
});

test('without an issuer and a verifier, the error names what is missing', () => {
  expect(() => bearerAuth({ resource: RESOURCE } as BearerAuthOptions)).toThrow('Set exactly one of issuer and verify');
});

test('a caller without the scope that every request needs is refused for a GET and a DELETE too', async () => {
  const verify = (token: string) =>
    Promise.resolve({ principal: 'ada', scopes: token === 'good' ? ['mcp'] : ['other'] });
  const { base } = await serving({ resource: RESOURCE, ...SERVERS, verify, scopes: ['mcp'] });
  for (const method of ['GET', 'DELETE']) {
    const send = (token: string) =>
      fetch(`${base}/mcp`, { method, headers: { ...POST_HEADERS, authorization: `Bearer ${token}` } });
    const refused = await send('poor');
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope", scope="mcp"');
    // The caller is accepted here, and fails later because it has no session.
    expect((await send('good')).status).toBe(400);
  }
});
