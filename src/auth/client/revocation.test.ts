import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { revokeTokens } from './revocation.ts';
import type { StoredTokens } from './token-store.ts';

let http: Server;
let issuer: string;
/** The metadata of the authorization server, and its answers to the tokens. */
let metadata: Record<string, unknown>;
let statuses: Record<string, number>;
let asked: { readonly authorization: string | undefined; readonly form: Record<string, string> }[];

beforeEach(async () => {
  http = createServer((request, response) => {
    void (async () => {
      const json = { 'content-type': 'application/json' };
      if (request.url === '/.well-known/oauth-authorization-server') {
        response.writeHead(200, json).end(JSON.stringify(metadata));
        return;
      }
      const form = Object.fromEntries(new URLSearchParams(await text(request)));
      asked.push({ authorization: request.headers.authorization, form });
      const status = statuses[form['token']!] ?? 200;
      const error = {
        error: status === 400 ? 'invalid_request' : 'unsupported_token_type',
        // A hostile server may name both.
        error_description: 'neither the-access-token nor the-refresh-token',
      };
      response.writeHead(status, json).end(status === 200 ? '' : JSON.stringify(error));
    })();
  });
  await once(http.listen(0, '127.0.0.1'), 'listening');
  issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  metadata = { issuer, token_endpoint: `${issuer}/token`, revocation_endpoint: `${issuer}/revoke` };
  statuses = {};
  asked = [];
});
afterEach(() => {
  http.close();
});

const tokens: StoredTokens = {
  accessToken: 'the-access-token',
  refreshToken: 'the-refresh-token',
  tokenType: 'Bearer',
  scopes: [],
  resource: 'http://127.0.0.1/mcp',
  clientId: 'me',
};

function revoke(more: Partial<StoredTokens> = {}, clientSecret?: string): Promise<boolean> {
  const key = { server: 'http://127.0.0.1/mcp', issuer };
  return revokeTokens(key, { ...tokens, ...more }, { clientId: 'me', ...(clientSecret && { clientSecret }) });
}

test('the refresh token and the access token are revoked', async () => {
  await revoke();
  expect(asked.map(({ form }) => form).toSorted((a, b) => a['token']!.localeCompare(b['token']!))).toEqual([
    { token: 'the-access-token', token_type_hint: 'access_token', client_id: 'me' },
    { token: 'the-refresh-token', token_type_hint: 'refresh_token', client_id: 'me' },
  ]);
});

test('a client with a secret authenticates', async () => {
  await revoke({}, 'the-secret');
  for (const { authorization } of asked) expect(authorization).toBe(`Basic ${btoa('me:the-secret')}`);
});

test.each(['the-access-token', 'the-refresh-token'])('if %s is refused, the other is revoked', async (token) => {
  statuses[token] = 400;
  const failed = revoke();
  await expect(failed).rejects.toMatchObject({ name: 'OAuthError', error: 'invalid_request' });
  await expect(failed).rejects.not.toThrow(/the-(access|refresh)-token/);
  expect(asked).toHaveLength(2);
});

test('an access token that cannot be revoked is no failure if the refresh token was revoked', async () => {
  expect(await revoke()).toBe(true);
  statuses['the-access-token'] = 401;
  expect(await revoke()).toBe(false);
  const failure = { name: 'OAuthError', error: 'unsupported_token_type' };
  await expect(revoke({ refreshToken: undefined })).rejects.toMatchObject(failure);
  statuses['the-refresh-token'] = 401;
  await expect(revoke()).rejects.toMatchObject(failure);
});

test('a revocation endpoint is not requested if the server could not name it either', async () => {
  metadata['revocation_endpoint'] = 'http://192.168.0.1/revoke';
  await expect(revoke()).rejects.toMatchObject({ code: 'blocked' });
});

test('without a revocation endpoint, nothing is sent', async () => {
  delete metadata['revocation_endpoint'];
  await expect(revoke()).rejects.toThrow(`${issuer} has no revocation endpoint`);
  expect(asked).toEqual([]);
});
