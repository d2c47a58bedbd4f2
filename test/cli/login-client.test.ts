import { expect, test } from 'vitest';
import { startEverwire } from '../support/command-line.ts';
import { startServerWithLogin, storeLogin } from './stored-login.ts';

const FORMER = 'https://former.example';

/** `everwire login` with the client of a login that is stored, at a server that names itself as its issuer now. */
async function logIn(clientId: string): Promise<string> {
  const origin = await startServerWithLogin({
    mcp: (_, __, send) => void send({}, 401),
    token: (send) => void send({ error: 'invalid_request' }, 400),
  });
  const { env } = await storeLogin(origin, { accessToken: 'former' }, FORMER);
  const command = startEverwire(['login', `${origin}/mcp`, '--no-open', '--client-id', clientId], env);
  expect((await command.exited).code).toBe(4);
  return command.stderr.join('\n');
}

// 2026-07-28, client-registration: Authorization Server Binding.
test('a login uses a client that is registered by hand only with the issuer of its stored login', async () => {
  expect(await logIn('app')).toMatch(
    /The client is registered with https:\/\/former\.example, but the server requires tokens from http:\/\/127/,
  );
});

test('a login uses another client with another issuer', async () => {
  expect(await logIn('other')).toContain('does not say that it supports PKCE');
});
