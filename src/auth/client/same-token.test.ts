import { expect, test } from 'vitest';
import { Deferred } from '../../base/deferred.ts';
import { challenge, OAuthWorld, REDIRECT, send, type Gatekeeper } from '../../../test/support/oauth-world.ts';
import { customRedirect } from '../index.ts';

/** An authorization server that gives a client the same token again. A login only adds scopes to it. */
function sameToken(): OAuthWorld {
  const world = new OAuthWorld();
  world.ontoken = () => world.issue({ access_token: 'the-token' });
  return world;
}

/** Refuses the token as long as only so many tokens have been issued. */
const until =
  (world: OAuthWorld, tokens: number, status: number, header: string): Gatekeeper =>
  ({ authorization }) => {
    if (authorization === undefined) return challenge(401, 'Bearer');
    return world.tokens < tokens ? challenge(status, header) : undefined;
  };

test('requests that wait for one login are sent again with the token that they were refused with', async () => {
  const world = sameToken();
  const finish = new Deferred();
  const redirect = customRedirect(REDIRECT, async ({ url }) => {
    world.loginUrls.push(url);
    if (world.loginUrls.length === 2) await finish.promise;
    return new URLSearchParams({ code: 'the-code', state: url.searchParams.get('state')! });
  });
  const authorizer = world.authorizer({ redirect });
  await send(authorizer);
  const gatekeeper = until(world, 2, 403, 'Bearer error="insufficient_scope", scope="write"');
  const all = Array.from({ length: 5 }, () => send(authorizer, gatekeeper));
  await expect.poll(() => world.loginUrls).toHaveLength(2);
  finish.resolve();
  for (const { sent } of await Promise.all(all)) expect(sent).toEqual(['Bearer the-token', 'Bearer the-token']);
  expect(world.loginUrls).toHaveLength(2);
});

test('requests that wait for one refresh require no login', async () => {
  const world = sameToken();
  const authorizer = world.authorizer();
  await send(authorizer);
  const gatekeeper = until(world, 2, 401, 'Bearer error="invalid_token"');
  const all = Array.from({ length: 5 }, () => send(authorizer, gatekeeper));
  for (const { sent } of await Promise.all(all)) expect(sent).toEqual(['Bearer the-token', 'Bearer the-token']);
  expect(world.tokenRequests.map((form) => form['grant_type'])).toEqual(['authorization_code', 'refresh_token']);
});

test('a scope that the server never accepts is requested twice', async () => {
  const world = sameToken();
  const authorizer = world.authorizer();
  await send(authorizer);
  const gatekeeper = until(world, Infinity, 403, 'Bearer error="insufficient_scope", scope="write"');
  await expect(send(authorizer, gatekeeper)).rejects.toThrow(
    'The server requires scopes that were requested 2 times already: write',
  );
  expect(world.loginUrls).toHaveLength(3);
});
