import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { bearerAuth, loopbackRedirect, logOut, MemoryTokenStore, oauth, OAuthError } from 'everwire/auth';
import { connect } from 'everwire/client';
import { McpServer } from 'everwire/server';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { browse, startAuthorizationServer } from '../test/support/oidc-provider.ts';
import { connectAsUser as official } from './moving/client/oauth-official-sdk-1.ts';
import { createProvider } from './oidc-provider.ts';
import { filesShownIn } from '../test/support/shown.ts';

describe('the page about client authorization', () => {
  const files = filesShownIn('docs/client-authorization.md');

  test('shows the files of the example', () => {
    expect(files.map(({ file }) => file)).toEqual([
      'examples/oauth.ts',
      'examples/oauth-application.ts',
      'examples/oauth-logout.ts',
    ]);
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});

/** Starts a server whose tool returns the principal of its caller, and the authorization server that issues its tokens. */
async function notes(): Promise<string> {
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {});
  const authorization = await startAuthorizationServer('notes:read', {
    clients: [
      {
        client_id: 'reports',
        client_secret: 'the-secret-of-reports',
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
      },
    ],
  });
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const resource = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const auth = bearerAuth({ resource, issuer: authorization.issuer, scopes: ['notes:read'] });
  const server = new McpServer({ name: 'notes', version: '1.0.0', http: { auth } });
  server.tool('who', {}, (_, { caller }) => caller.principal!.replace(`${authorization.issuer}#`, ''));
  http.on('request', server.node);
  onTestFinished(async () => {
    await server.close();
    http.closeAllConnections();
    http.close();
    await authorization.close();
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
  return resource;
}

async function who(server: string, fetch: typeof globalThis.fetch): Promise<unknown> {
  const client = new Client({ name: 'reader', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(server), { fetch }));
  onTestFinished(() => client.close());
  return (await client.callTool({ name: 'who' })).content;
}

test('the example with a user logs in, stores the tokens, and logs out', async () => {
  const server = await notes();
  const folder = await mkdtemp(path.join(tmpdir(), 'everwire-example-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  vi.stubEnv('SERVER', server);
  vi.stubEnv('TOKENS', folder);
  // Without a browser, the example prints the URL.
  vi.stubEnv('PATH', '');
  vi.spyOn(console, 'error').mockImplementation(
    (text: string) => void browse(new URL(text.replace('Please open ', ''))),
  );
  const { fetch } = await import('./oauth.ts');
  expect(await who(server, fetch)).toEqual([{ type: 'text', text: 'alice' }]);
  expect(await readdir(folder)).toHaveLength(1);
  const { signOut } = await import('./oauth-logout.ts');
  vi.mocked(console.error)
    .mockReset()
    .mockImplementation(() => {});
  await signOut(server, folder);
  expect(await readdir(folder)).toEqual([]);
  expect(console.error).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('has no revocation endpoint'));
});

test('the example without a user calls as the application', async () => {
  const server = await notes();
  vi.stubEnv('SERVER', server);
  vi.stubEnv('CLIENT_SECRET', 'the-secret-of-reports');
  const { fetch } = await import('./oauth-application.ts');
  expect(await who(server, fetch)).toEqual([{ type: 'text', text: 'reports' }]);
});

test('the example of an authorization server issues tokens for one server, and revokes refresh tokens', async () => {
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {});
  const [login, http] = [createServer(), createServer()];
  const [issuer, origin] = await Promise.all(
    [login, http].map(async (each) => {
      await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve));
      return `http://127.0.0.1:${(each.address() as AddressInfo).port}`;
    }),
  );
  const resource = `${origin}/mcp`;
  const answer = createProvider(issuer!, resource).callback();
  login.on('request', (request, response) => void answer(request, response));
  const auth = bearerAuth({ resource, issuer: issuer!, scopes: ['notes:read'] });
  const server = new McpServer({ name: 'notes', version: '1.0.0', http: { auth } });
  server.tool('who', {}, (_, { caller }) => caller.principal!.replace(`${issuer}#`, ''));
  http.on('request', server.node);
  onTestFinished(async () => {
    await server.close();
    for (const each of [login, http]) {
      each.closeAllConnections();
      each.close();
    }
    vi.restoreAllMocks();
  });
  const store = new MemoryTokenStore();
  const redirect = loopbackRedirect({ open: async (url) => (await browse(url)) !== '' });
  const client = await connect(resource, { authorizer: oauth({ server: resource, store, redirect }) });
  onTestFinished(() => client.close());
  expect((await client.callTool('who')).content).toEqual([{ type: 'text', text: 'alice' }]);
  expect(await logOut({ server: resource, store })).toEqual([
    { issuer, error: undefined, accessTokenLasts: true, expiresAt: expect.any(Number) },
  ]);

  // The SDK registers its client with the scopes that the server names.
  const theirs = await official(resource, (url) => void browse(url));
  onTestFinished(() => theirs.close());
  expect((await theirs.callTool({ name: 'who' })).content).toEqual([{ type: 'text', text: 'alice' }]);

  // The user refuses.
  const refusing = loopbackRedirect({
    open: async ({ searchParams }) => {
      const back = new URL(searchParams.get('redirect_uri')!);
      const refusal = { error: 'access_denied', state: searchParams.get('state')!, iss: issuer! };
      back.search = new URLSearchParams(refusal).toString();
      return (await fetch(back)).status > 0;
    },
  });
  const refused = connect(resource, { authorizer: oauth({ server: resource, redirect: refusing }) });
  const error = await refused.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(OAuthError);
  expect(error).toMatchObject({ code: 'authorization', error: 'access_denied' });
});
