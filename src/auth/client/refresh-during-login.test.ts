import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Deferred } from '../../base/deferred.ts';
import { accepts, challenge, ISSUER, OAuthWorld, REDIRECT, send, SERVER } from '../../../test/support/oauth-world.ts';
import { customRedirect, FileTokenStore, MemoryTokenStore, OAuthError, type TokenStore } from '../index.ts';

const REQUEST = { method: 'POST', url: new URL(SERVER) } as const;
const KEY = { server: SERVER, issuer: ISSUER };

async function folder(): Promise<string> {
  const created = await mkdtemp(path.join(tmpdir(), 'everwire-login-'));
  onTestFinished(() => rm(created, { recursive: true }));
  return created;
}

/** A client with a token, whose server requires a further scope. The user sees the login and does nothing yet. */
async function stepUp(store: TokenStore, status = 403) {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const world = new OAuthWorld();
  const finish = new Deferred();
  const shown = new Deferred();
  const redirect = customRedirect(REDIRECT, async ({ url }) => {
    world.loginUrls.push(url);
    if (world.loginUrls.length === 2) {
      shown.resolve();
      await finish.promise;
    }
    return new URLSearchParams({ code: 'the-code', state: url.searchParams.get('state')! });
  });
  const authorizer = world.authorizer({ store, redirect });
  await send(authorizer);
  const refuse = async (): Promise<boolean> => {
    const further = 'Bearer error="insufficient_scope", scope="write"';
    const headers = await authorizer.headers(REQUEST);
    return authorizer.refused({ ...REQUEST, headers }, { status, header: () => further });
  };
  const refused = refuse();
  await shown.promise;
  return { world, authorizer, redirect, refuse, refused, finish };
}

test.each([
  ['memory', 403],
  ['memory', 401],
  ['files', 403],
  ['files', 401],
])('tokens in %s are refreshed while a user logs in for a further scope, after a %i', async (kind, status) => {
  const store = kind === 'files' ? new FileTokenStore(await folder()) : new MemoryTokenStore();
  const { world, authorizer, redirect, refused, finish } = await stepUp(store, status);
  const other = world.authorizer({ store, redirect });
  vi.setSystemTime(Date.now() + 3_590_000);
  expect(await authorizer.headers(REQUEST)).toEqual({ authorization: 'Bearer access-2' });
  vi.setSystemTime(Date.now() + 3_590_000);
  expect(await other.headers(REQUEST)).toEqual({ authorization: 'Bearer access-3' });
  expect((await send(authorizer, accepts('access-4'))).sent).toEqual(['Bearer access-3', 'Bearer access-4']);
  finish.resolve();
  expect(await refused).toBe(true);
  for (const each of [authorizer, world.authorizer({ store, redirect })])
    expect(await each.headers(REQUEST)).toEqual({ authorization: 'Bearer access-5' });
  const grants = world.tokenRequests.map((form) => form['grant_type']);
  const refreshes = ['refresh_token', 'refresh_token', 'refresh_token'];
  expect(grants).toEqual(['authorization_code', ...refreshes, 'authorization_code']);
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
  finish.resolve();
  expect(await refused).toBe(true);
  expect((await answer).sent).toEqual(['Bearer access-1', 'Bearer access-2']);
  expect(world.loginUrls).toHaveLength(2);
});

test('a login of another process is active for a request that waits for it, until it is over or the wait ends', async () => {
  const store = new MemoryTokenStore();
  const { world, redirect, refused, finish } = await stepUp(store);
  const [patient, impatient] = [world.authorizer({ store, redirect }), world.authorizer({ store, redirect })];
  const needsWrite = ({ authorization }: Readonly<Record<string, string>>) =>
    authorization === 'Bearer access-2'
      ? undefined
      : challenge(403, 'Bearer error="insufficient_scope", scope="write"');
  const controller = new AbortController();
  const answer = send(patient, needsWrite);
  const none = send(impatient, needsWrite, { signal: controller.signal });
  await vi.waitFor(() => expect([patient.loginActiveUntil, impatient.loginActiveUntil]).toEqual([Infinity, Infinity]));
  controller.abort(new Error('cancelled'));
  await expect(none).rejects.toThrow('cancelled');
  expect(impatient.loginActiveUntil).toBe(Date.now());
  finish.resolve();
  expect(await refused).toBe(true);
  expect((await answer).sent).toEqual(['Bearer access-1', 'Bearer access-2']);
  expect(patient.loginActiveUntil).toBe(Date.now());
  expect(world.loginUrls).toHaveLength(2);
});

test.each(['invalid_client', 'unauthorized_client'])(
  'a refresh that fails with %s during a login does not separate the new tokens from their client',
  async (error) => {
    const store = new MemoryTokenStore();
    const { world, authorizer, refused, finish } = await stepUp(store);
    const refusal = { status: 400, body: { error } };
    world.ontoken = ({ body }) => (body['grant_type'] === 'refresh_token' ? refusal : undefined);
    vi.setSystemTime(Date.now() + 3_590_000);
    await authorizer.headers(REQUEST);
    expect((await store.get(KEY))?.client).toBeUndefined();
    world.ontoken = () => undefined;
    finish.resolve();
    expect(await refused).toBe(true);
    vi.setSystemTime(Date.now() + 3_590_000);
    expect((await send(authorizer)).sent).toEqual(['Bearer access-3']);
    expect(world.tokenRequests.at(-1)).toMatchObject({ grant_type: 'refresh_token', refresh_token: 'refresh-2' });
    expect([world.loginUrls.length, world.registrations.length]).toEqual([2, 1]);
  },
);

test('a login that fails late does not remove the client of the next login', async () => {
  const store = new MemoryTokenStore();
  const { refused, finish } = await stepUp(store);
  const client = { clientId: 'next', redirectUris: [REDIRECT] };
  await store.set(KEY, { client });
  finish.reject(new OAuthError('timeout', 'No login'));
  await expect(refused).rejects.toThrow('No login');
  expect(await store.get(KEY)).toEqual({ client });
});

test('requests with refreshed tokens that wait for one login count as one step-up', async () => {
  const { world, refuse, refused, finish } = await stepUp(new MemoryTokenStore());
  const waiting = [refused];
  for (let n = 0; n < 3; n++) {
    vi.setSystemTime(Date.now() + 3_590_000);
    waiting.push(refuse());
    await vi.waitFor(() => expect(world.tokens).toBe(n + 2));
  }
  finish.resolve();
  expect(await Promise.all(waiting)).toEqual([true, true, true, true]);
  expect(world.loginUrls).toHaveLength(2);
  expect(await refuse()).toBe(true);
  await expect(refuse()).rejects.toThrow('The server requires scopes that were requested 2 times already: write');
  expect(world.loginUrls).toHaveLength(3);
});
