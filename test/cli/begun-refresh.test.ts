import { expect, test } from 'vitest';
import { Deferred } from '../../src/base/deferred.ts';
import { startEverwire } from '../support/command-line.ts';
import { startServerWithLogin, storeLogin } from './stored-login.ts';

test('a command that ends keeps the tokens of a refresh that it has begun', async () => {
  // The token endpoint does not answer by itself.
  const asked = new Deferred<(body: object) => void>();
  const origin = await startServerWithLogin({
    mcp: (_request, _response, send) => void send({}, 401),
    token: asked.resolve,
  });
  const old = { accessToken: 'access-0', refreshToken: 'refresh-0', expiresAt: 2, refreshAt: 1 };
  const { store, key, env } = await storeLogin(origin, old);
  const command = startEverwire(['ping', key.server], env);
  const answer = await asked.promise;
  command.child.kill('SIGINT');
  answer({ access_token: 'access-1', token_type: 'Bearer', refresh_token: 'refresh-1', expires_in: 3600 });
  expect(await command.exited).toEqual({ code: 130, signal: null });
  expect((await store.get(key))!.tokens).toMatchObject({ accessToken: 'access-1', refreshToken: 'refresh-1' });
});
