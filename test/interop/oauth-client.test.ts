import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client as Official } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  authorizedFetch,
  bearerAuth,
  FileTokenStore,
  loopbackRedirect,
  MemoryTokenStore,
  oauth,
  type OAuthOptions,
} from '../../src/auth/index.ts';
import { connect } from '../../src/client/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { StreamableClient } from '../../src/transport/http/client/streamable-client.ts';
import { browse, startAuthorizationServer, type AuthorizationServer } from '../support/oidc-provider.ts';

const APPLICATION = { client_id: 'app', client_secret: 'the-secret-of-the-application' };

let authorization: AuthorizationServer;
let server: McpServer;
let http: Server;
let endpoint: URL;
/** The URLs that users were sent to. */
let visited: URL[];

beforeEach(async () => {
  // It prints a long warning about use in production.
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {});
  authorization = await startAuthorizationServer('notes:read notes:write', {
    clients: [
      {
        ...APPLICATION,
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
  });
  visited = [];
  http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  endpoint = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  const auth = bearerAuth({ resource: endpoint.href, issuer: authorization.issuer, scopes: ['notes:read'] });
  server = new McpServer({ name: 'notes', version: '1.0.0', http: { auth } });
  server.tool('who', {}, (_, { caller }) => `${caller.principal} ${caller.auth?.scopes.join(' ')}`);
  server.tool('write', { scopes: ['notes:write'] }, () => 'written');
  http.on('request', server.node);
});
afterEach(async () => {
  await server.close();
  http.closeAllConnections();
  await new Promise((resolve) => void http.close(resolve));
  await authorization.close();
  vi.restoreAllMocks();
});

function alice(): OAuthOptions {
  const open = (url: URL): void => {
    visited.push(url);
    void browse(url);
  };
  return { redirect: loopbackRedirect({ open }), offline: true };
}

/** An official client that uses our authorizer. */
async function client(options: OAuthOptions): Promise<(name: string) => Promise<string>> {
  const fetch = authorizedFetch(oauth({ server: endpoint, ...options }));
  const official = new Official({ name: 'reader', version: '1.0.0' });
  await official.connect(new StreamableHTTPClientTransport(endpoint, { fetch }));
  onTestFinished(() => official.close());
  return async (name) => {
    const { content } = await official.callTool({ name, arguments: {} });
    return (content as { text: string }[])[0]!.text;
  };
}

describe('a client of a real authorization server', () => {
  test('works in our client, whose transport gets credentials from it', async () => {
    const authorizer = oauth({ server: endpoint, ...alice() });
    const own = await connect(() => new StreamableClient(endpoint, { authorizer }), { eras: 'legacy' });
    onTestFinished(() => own.close());
    expect((await own.callTool('who')).content).toEqual([
      { type: 'text', text: `${authorization.issuer}#alice notes:read` },
    ]);
    expect((await own.callTool('write')).content).toEqual([{ type: 'text', text: 'written' }]);
    expect(visited).toHaveLength(2);
  });

  test('registers, lets its user log in, and steps up if a tool needs more scopes', async () => {
    const call = await client(alice());
    expect(await call('who')).toBe(`${authorization.issuer}#alice notes:read`);
    expect(await call('write')).toBe('written');
    expect(visited.map((url) => url.searchParams.get('scope'))).toEqual([
      'notes:read offline_access',
      'notes:read offline_access notes:write',
    ]);
    expect(authorization.asked.filter((place) => place === '/reg')).toHaveLength(1);
  });

  test('continues in another process with the stored tokens, and refreshes them', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'everwire-oidc-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const store = new FileTokenStore(folder);
    await client({ ...alice(), store });
    const key = { server: endpoint.href, issuer: authorization.issuer };
    const kept = (await store.get(key))!;
    const { accessToken, refreshToken } = kept.tokens!;
    expect(refreshToken).toBeDefined();
    await store.set(key, { ...kept, tokens: { ...kept.tokens!, refreshAt: 1, expiresAt: 2 } });
    const [one, two] = await Promise.all([client({ ...alice(), store }), client({ ...alice(), store })]);
    expect(await one('who')).toBe(`${authorization.issuer}#alice notes:read`);
    expect(await two('who')).toBe(`${authorization.issuer}#alice notes:read`);
    const { tokens } = (await store.get(key))!;
    // The refresh token of a public client rotates. Using an old one again would revoke all of them.
    expect(tokens!.refreshToken).not.toBe(refreshToken);
    expect(tokens!.accessToken).not.toBe(accessToken);
    expect(visited).toHaveLength(1);
    expect(authorization.asked.filter((place) => place === '/token')).toHaveLength(2);
  });

  test('registers again if the authorization server no longer knows it', async () => {
    const store = new MemoryTokenStore();
    await client({ ...alice(), store });
    const key = { server: endpoint.href, issuer: authorization.issuer };
    const { client: registered } = (await store.get(key))!;
    await store.set(key, { client: { ...registered!, clientId: 'forgotten' } });
    // It tells the user that the client is unknown, and does not redirect.
    const redirect = loopbackRedirect({ open: (url) => browse(url), timeout: 1000 });
    await expect(client({ redirect, store })).rejects.toMatchObject({ code: 'timeout' });
    const call = await client({ ...alice(), store });
    expect(await call('who')).toBe(`${authorization.issuer}#alice notes:read`);
    expect(authorization.asked.filter((place) => place === '/reg')).toHaveLength(2);
  });

  test('gets its own tokens as an application', async () => {
    const { client_id: clientId, client_secret: clientSecret } = APPLICATION;
    const call = await client({ clientCredentials: true, client: { clientId, clientSecret } });
    expect(await call('who')).toContain('notes:read');
    expect(await call('write')).toBe('written');
    expect(visited).toEqual([]);
  });

  test('gets the reason if its secret is wrong', async () => {
    const options = { clientCredentials: true, client: { clientId: 'app', clientSecret: 'a-wrong-secret' } };
    const failed = client(options);
    await expect(failed).rejects.toMatchObject({ code: 'token', error: 'invalid_client' });
    await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining('a-wrong-secret') });
  });

  test('gets an error if the user refuses', async () => {
    const open = async (url: URL): Promise<void> => {
      const { searchParams } = url;
      const answer = new URL(searchParams.get('redirect_uri')!);
      answer.search = String(
        new URLSearchParams({ error: 'access_denied', state: searchParams.get('state')!, iss: authorization.issuer }),
      );
      await fetch(answer);
    };
    await expect(client({ redirect: loopbackRedirect({ open }) })).rejects.toMatchObject({ error: 'access_denied' });
  });

  test('binds its tokens to a key if configured', async () => {
    // The authenticator does not accept such tokens, so the test only gets and sends them.
    const authorizer = oauth({ server: endpoint, ...alice(), dpop: true });
    const challenged = { status: 401, header: () => undefined };
    expect(await authorizer.refused({ method: 'POST', url: endpoint, headers: {} }, challenged)).toBe(true);
    const headers = await authorizer.headers({ method: 'POST', url: endpoint });
    expect(headers['authorization']).toMatch(/^DPoP /);
    const { cnf } = JSON.parse(Buffer.from(headers['authorization']!.split('.')[1]!, 'base64url').toString());
    expect(cnf.jkt).toBe(visited[0]!.searchParams.get('dpop_jkt'));
  });
});
