import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Deferred } from '../../base/deferred.ts';
import { challenge, OAuthWorld, REDIRECT, send, SERVER, type Gatekeeper } from '../../../test/support/oauth-world.ts';
import { customRedirect, FileTokenStore, MemoryTokenStore, type TokenStore } from '../index.ts';

const REQUEST = { method: 'POST', url: new URL(SERVER) } as const;

const accepts =
  (token: string): Gatekeeper =>
  ({ authorization }) =>
    authorization === `Bearer ${token}` ? undefined : challenge(401, 'Bearer error="invalid_token"');

async function folder(): Promise<string> {
  const created = await mkdtemp(path.join(tmpdir(), 'everwire-login-'));
  onTestFinished(() => rm(created, { recursive: true }));
  return created;
}

/** A client with a token, whose server requires a further scope. The user sees the login and does nothing yet. */
async function stepUp(store: TokenStore) {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const world = new OAuthWorld();
  const finish = new Deferred();
  const shown = new Deferred();
  const redirect = customRedirect(REDIRECT, async ({ url }) => {
    world.loginUrls.push(url);
    if (world.loginUrls.length > 1) {
      shown.resolve();
      await finish.promise;
    }
    return new URLSearchParams({ code: 'the-code', state: url.searchParams.get('state')! });
  });
  const authorizer = world.authorizer({ store, redirect });
  await send(authorizer);
  const headers = await authorizer.headers(REQUEST);
  const further = 'Bearer error="insufficient_scope", scope="write"';
  const refused = authorizer.refused({ ...REQUEST, headers }, { status: 403, header: () => further });
  await shown.promise;
  return { world, authorizer, redirect, refused, finish: () => finish.resolve() };
}

test.each(['memory', 'files'])('while a user logs in for a further scope, tokens in %s are refreshed', async (kind) => {
  const store = kind === 'files' ? new FileTokenStore(await folder()) : new MemoryTokenStore();
  const { world, authorizer, redirect, refused, finish } = await stepUp(store);
  const other = world.authorizer({ store, redirect });
  vi.setSystemTime(Date.now() + 3_590_000);
  expect(await authorizer.headers(REQUEST)).toEqual({ authorization: 'Bearer access-2' });
  vi.setSystemTime(Date.now() + 3_590_000);
  expect(await other.headers(REQUEST)).toEqual({ authorization: 'Bearer access-3' });
  finish();
  expect(await refused).toBe(true);
  for (const each of [authorizer, world.authorizer({ store, redirect })])
    expect(await each.headers(REQUEST)).toEqual({ authorization: 'Bearer access-4' });
  const grants = world.tokenRequests.map((form) => form['grant_type']);
  expect(grants).toEqual(['authorization_code', 'refresh_token', 'refresh_token', 'authorization_code']);
  expect(world.loginUrls).toHaveLength(2);
});

test('a request that needs a login waits for one for a further scope', async () => {
  const store = new MemoryTokenStore();
  const { world, redirect, refused, finish } = await stepUp(store);
  const refusal = { status: 400, body: { error: 'invalid_grant' } };
  world.ontoken = ({ body }) => (body['grant_type'] === 'refresh_token' ? refusal : undefined);
  const other = world.authorizer({ store, redirect });
  const answer = send(other, accepts('access-2'));
  await vi.waitFor(() => expect(world.tokenRequests).toHaveLength(2));
  finish();
  expect(await refused).toBe(true);
  expect((await answer).sent).toEqual(['Bearer access-1', 'Bearer access-2']);
  expect(world.loginUrls).toHaveLength(2);
});
