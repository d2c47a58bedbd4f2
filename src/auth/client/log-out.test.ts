import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { logOut } from './log-out.ts';
import { MemoryTokenStore, type StoredTokens } from './token-store.ts';

const SERVER = 'http://127.0.0.1/mcp';

let http: Server;
let issuer: string;
let store: MemoryTokenStore;
/** The status of answers to a revocation. */
let status: number;
let revoked: { readonly token: string | null; readonly authorization: string | undefined }[];

beforeEach(async () => {
  status = 200;
  revoked = [];
  store = new MemoryTokenStore();
  http = createServer((request, response) => {
    void (async () => {
      if (request.url === '/.well-known/oauth-authorization-server') {
        const metadata = { issuer, token_endpoint: `${issuer}/token`, revocation_endpoint: `${issuer}/revoke` };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
        return;
      }
      const { authorization } = request.headers;
      revoked.push({ token: new URLSearchParams(await text(request)).get('token'), authorization });
      response.writeHead(status).end();
    })();
  });
  await once(http.listen(0, '127.0.0.1'), 'listening');
  issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterEach(() => {
  http.close();
});

async function logIn(more: Partial<StoredTokens> = {}): Promise<void> {
  const tokens = {
    accessToken: 'the-token',
    tokenType: 'Bearer',
    scopes: [],
    resource: SERVER,
    clientId: 'me',
  } as const;
  const client = { clientId: 'registered', clientSecret: 'stored', redirectUris: [] };
  await store.set({ server: SERVER, issuer }, { client, tokens: { ...tokens, ...more } });
}

test('the tokens are deleted from the store and revoked', async () => {
  await logIn();
  expect(await logOut({ server: `${SERVER}#part`, store })).toEqual([
    { issuer, error: undefined, accessTokenLasts: false, expiresAt: undefined },
  ]);
  expect(revoked).toEqual([{ token: 'the-token', authorization: undefined }]);
  expect(await store.issuers(SERVER)).toEqual([]);
  expect(await logOut({ server: SERVER, store })).toEqual([]);
});

test.each([
  ['the stored client', 'registered', `Basic ${btoa('registered:stored')}`],
  ['the client that was registered by hand', 'by-hand', `Basic ${btoa('by-hand:given')}`],
])('%s authenticates for its tokens', async (_, clientId, authorization) => {
  await logIn({ clientId });
  await logOut({ server: SERVER, store, client: { clientId: 'by-hand', clientSecret: 'given' } });
  expect(revoked).toEqual([{ token: 'the-token', authorization }]);
});

test('tokens that cannot be revoked are deleted nevertheless', async () => {
  await logIn({ expiresAt: 1_800_000_000_000 });
  status = 503;
  expect(await logOut({ server: SERVER, store })).toEqual([
    {
      issuer,
      error: expect.objectContaining({ name: 'OAuthError' }),
      accessTokenLasts: true,
      expiresAt: 1_800_000_000_000,
    },
  ]);
  expect(await store.issuers(SERVER)).toEqual([]);
});

test('requests are sent with the fetch of the application', async () => {
  await logIn();
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    asked.push(input instanceof Request ? input.url : String(input));
    return globalThis.fetch(input, init);
  };
  await logOut({ server: SERVER, store, fetch });
  expect(asked).toContain(`${issuer}/revoke`);
});
