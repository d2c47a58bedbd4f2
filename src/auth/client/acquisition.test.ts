import { decodeProtectedHeader } from 'jose';
import { describe, expect, test, vi } from 'vitest';
import { anyToken, challenge, ISSUER, OAuthWorld, REDIRECT, send, SERVER } from '../../../test/support/oauth-world.ts';
import type { Gatekeeper } from '../../../test/support/oauth-world.ts';
import { MemoryTokenStore, OAuthError, type RedirectHandler } from '../index.ts';
import type { StoredTokens } from './token-store.ts';

const KEY = { server: SERVER, issuer: ISSUER };
const CLIENT = { clientId: 'app', clientSecret: 'the-client-secret' };
const REGISTERED = { clientId: 'client-of-auth.example', redirectUris: [REDIRECT] };
const TOKENS: StoredTokens = {
  accessToken: 'access-0',
  tokenType: 'Bearer',
  scopes: [],
  resource: SERVER,
  clientId: REGISTERED.clientId,
  refreshToken: 'refresh-0',
};

/** A server that accepts only the first token issued from now on. */
const fresh =
  (header = 'Bearer error="invalid_token"'): Gatekeeper =>
  ({ authorization }) =>
    authorization === 'Bearer access-1' ? undefined : challenge(401, header);

/** A store that holds tokens of a client. */
async function holding(tokens: Partial<StoredTokens>, client: object | null = REGISTERED): Promise<MemoryTokenStore> {
  const store = new MemoryTokenStore();
  await store.set(KEY, { ...(client && { client: REGISTERED }), tokens: { ...TOKENS, ...tokens } });
  return store;
}

const grants = (world: OAuthWorld): unknown[] => world.tokenRequests.map((form) => form['grant_type']);
const scopeOf = (url: URL | undefined): string | null => url!.searchParams.get('scope');

/** A login by a user that a test scripts. It records the arguments of each login, and how many logins were closed. */
function scriptedLogin(world: OAuthWorld, authorize?: () => Promise<URLSearchParams>) {
  const former: (readonly string[])[] = [];
  let closed = 0;
  const redirect: RedirectHandler = {
    start: async (before) => {
      former.push(before);
      const login = await world.redirect.start(before);
      return {
        redirectUri: login.redirectUri,
        authorize: (request) => (authorize ? authorize() : login.authorize(request)),
        close: () => Promise.resolve(void (closed += 1)),
      };
    },
  };
  return { redirect, former, closed: () => closed };
}

describe('a refresh token', () => {
  test('is used only for the resource and by the client that it was issued to', async () => {
    const world = new OAuthWorld();
    expect((await send(world.authorizer({ store: await holding({}) }), fresh())).let).toBe(true);
    expect(grants(world)).toEqual(['refresh_token']);
  });

  test.each<[string, Partial<StoredTokens>, string, object | null]>([
    ['of another resource', { resource: 'https://mcp.example' }, 'Bearer', REGISTERED],
    ['of another client', { clientId: 'other' }, 'Bearer', REGISTERED],
    ['of a client that is no longer stored', {}, 'Bearer', null],
    ['with too few scopes', { scopes: ['a'] }, 'Bearer scope="a b"', REGISTERED],
  ])('that is %s is not used', async (_, tokens, header, client) => {
    const world = new OAuthWorld();
    const store = await holding(tokens, client);
    expect((await send(world.authorizer({ store }), fresh(header))).let).toBe(true);
    expect(grants(world)).toEqual(['authorization_code']);
    expect(JSON.stringify(world.asked)).not.toContain('refresh-0');
  });

  test('that was sent is replaced, even if no request waits for it any more', async () => {
    const world = new OAuthWorld();
    const leaving = new AbortController();
    world.ontoken = () => {
      leaving.abort(new Error('left'));
      return undefined;
    };
    const store = await holding({});
    const authorizer = world.authorizer({ store });
    await expect(send(authorizer, fresh(), { signal: leaving.signal })).rejects.toThrow('left');
    await expect.poll(async () => (await store.get(KEY))!.tokens!.refreshToken).toBe('refresh-1');
    expect(await send(authorizer, fresh())).toEqual({ let: true, sent: ['Bearer access-1'] });
    expect(grants(world)).toEqual(['refresh_token']);
  });

  test('is not sent if no request waits for it any more', async () => {
    const world = new OAuthWorld();
    const leaving = new AbortController();
    const store = await holding({});
    const get = store.get.bind(store);
    store.get = async (key) => {
      if (world.read.length > 0) leaving.abort(new Error('left'));
      await new Promise(setImmediate);
      return get(key);
    };
    await expect(send(world.authorizer({ store }), fresh(), { signal: leaving.signal })).rejects.toThrow('left');
    await store.locked(KEY, () => Promise.resolve());
    expect(grants(world)).toEqual([]);
  });

  test('with sufficient scopes is used', async () => {
    const world = new OAuthWorld();
    const store = await holding({ scopes: ['a', 'b'] });
    expect((await send(world.authorizer({ store }), fresh('Bearer scope="a"'))).let).toBe(true);
    expect(grants(world)).toEqual(['refresh_token']);
    expect((await store.get(KEY))!.tokens!.scopes).toEqual(['a', 'b']);
  });

  test.each([
    ['invalid_grant', 0],
    ['invalid_client', 1],
    ['unauthorized_client', 1],
  ])('that is refused with %s is followed by a login, and %i registrations', async (error, registrations) => {
    const world = new OAuthWorld();
    world.ontoken = ({ body }) => (body['refresh_token'] ? { status: 400, body: { error } } : undefined);
    expect((await send(world.authorizer({ store: await holding({}) }), fresh())).let).toBe(true);
    expect(grants(world)).toEqual(['refresh_token', 'authorization_code']);
    expect(world.registrations).toHaveLength(registrations);
  });

  test('that is refused for another reason is kept', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => ({ status: 400, body: { error: 'invalid_scope' } });
    const store = await holding({});
    await expect(send(world.authorizer({ store }), fresh())).rejects.toMatchObject({ error: 'invalid_scope' });
    expect((await store.get(KEY))!.tokens!.refreshToken).toBe('refresh-0');
  });

  test('that does not work is removed, even if the login fails', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => ({ status: 400, body: { error: 'invalid_grant' } });
    world.back = { code: null, error: 'access_denied' };
    const store = await holding({ scopes: ['a'] });
    await expect(send(world.authorizer({ store }), fresh())).rejects.toMatchObject({ error: 'access_denied' });
    const { refreshToken: _, ...rest } = TOKENS;
    expect(await store.get(KEY)).toStrictEqual({ client: REGISTERED, tokens: { ...rest, scopes: ['a'] } });
  });

  test('is bound to the key of its token', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => world.issue({ token_type: 'DPoP' });
    const store = new MemoryTokenStore();
    const authorizer = world.authorizer({ store, dpop: true });
    await send(authorizer);
    await send(authorizer, ({ authorization }) =>
      authorization === 'DPoP access-2' ? undefined : challenge(401, 'DPoP'),
    );
    const [first, second] = world.asked
      .filter(({ url }) => url.endsWith('/token'))
      .map(({ headers }) => decodeProtectedHeader(headers['dpop']!).jwk);
    expect(second).toEqual(first);
  });
});

describe('the requested scopes', () => {
  test.each([
    [SERVER, 'old new'],
    ['https://mcp.example', 'new'],
  ])('include earlier scopes only from tokens for the same resource: %s', async (resource, scope) => {
    const world = new OAuthWorld();
    const store = await holding({ resource, scopes: ['old'], refreshToken: undefined });
    await send(world.authorizer({ store }), fresh('Bearer scope="new"'));
    expect(scopeOf(world.loginUrls[0])).toBe(scope);
  });

  test('do not include offline access if there is no user', async () => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { scopes_supported: ['offline_access'] });
    await send(world.authorizer({ clientCredentials: true, client: CLIENT, scopes: ['a', 'b'] }));
    expect(world.tokenRequests[0]!['scope']).toBe('a b');
  });

  test('do not grow with refreshes', async () => {
    const world = new OAuthWorld();
    world.ontoken = ({ body }) => (body['refresh_token'] ? world.issue({ scope: 'a more' }) : undefined);
    const store = await holding({ scopes: ['a'] });
    await send(world.authorizer({ store }), fresh());
    expect((await store.get(KEY))!.tokens!.scopes).toEqual(['a']);
  });

  test('have a limit', async () => {
    const world = new OAuthWorld();
    const scopes_supported = Array.from({ length: 5000 }, (_, index) => `scope-${index}`);
    world.resource({ scopes_supported });
    await expect(send(world.authorizer({}))).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(world.registrations).toEqual([]);
  });

  test('are told from the granted scopes, also after a refresh', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    const granted = async (): Promise<unknown> => (await store.get(KEY))!.tokens!.grantedScopes;
    world.ontoken = () => world.issue(world.tokens === 0 ? { scope: 'a' } : {});
    const authorizer = world.authorizer({ store, scopes: ['a', 'b'] });
    await send(authorizer);
    expect(await granted()).toEqual(['a']);
    await send(authorizer, ({ authorization }) =>
      authorization === 'Bearer access-2' ? undefined : challenge(401, 'Bearer'),
    );
    expect(grants(world)).toEqual(['authorization_code', 'refresh_token']);
    expect(await granted()).toEqual(['a']);
  });

  test('are stored with the granted scopes', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => world.issue({ scope: 'b c' });
    const store = new MemoryTokenStore();
    await send(world.authorizer({ store, scopes: ['a', 'b'] }));
    expect((await store.get(KEY))!.tokens!.scopes).toEqual(['a', 'b', 'c']);
  });
});

describe('a response of the token endpoint is refused, and does not appear in the error, if', () => {
  test.each([
    ['the access token is too long', { access_token: 'x'.repeat(16_385) }],
    ['the access token has a line break', { access_token: 'xx\nxx' }],
    ['the refresh token is too long', { refresh_token: 'x'.repeat(16_385) }],
    ['the refresh token is not ASCII', { refresh_token: 'xxé' }],
    ['the scope is too long', { scope: 'xx '.repeat(6000) }],
    ['the token has expired already', { expires_in: 0 }],
  ])('%s', async (_, members) => {
    const world = new OAuthWorld();
    world.ontoken = () => world.issue(members);
    const store = new MemoryTokenStore();
    const error = await send(world.authorizer({ store })).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'token', message: expect.stringContaining('invalid response: ') });
    expect((error as Error).message).not.toContain('xx');
    expect((await store.get(KEY))?.tokens).toBeUndefined();
    expect(world.loginUrls).toHaveLength(1);
  });
});

describe('the stored credentials', () => {
  test('contain everything that was issued', async () => {
    const world = new OAuthWorld();
    const at = 'https://mcp.example/elsewhere';
    world.resource({}, at);
    const store = new MemoryTokenStore();
    await send(world.authorizer({ store }), fresh(`Bearer resource_metadata="${at}"`));
    expect(await store.get(KEY)).toStrictEqual({
      client: REGISTERED,
      tokens: {
        accessToken: 'access-1',
        tokenType: 'Bearer',
        scopes: [],
        resource: SERVER,
        clientId: REGISTERED.clientId,
        refreshToken: 'refresh-1',
        expiresAt: expect.any(Number),
        refreshAt: expect.any(Number),
        metadataUrl: at,
      },
    });
  });

  test('have no undefined members, because some stores distinguish missing from undefined', async () => {
    const world = new OAuthWorld();
    world.lifetime = undefined;
    world.ontoken = () => world.issue({ refresh_token: undefined });
    const store = new MemoryTokenStore();
    const set = vi.spyOn(store, 'set');
    await send(world.authorizer({ store, client: CLIENT, clientCredentials: true }));
    const tokens = { accessToken: 'access-1', tokenType: 'Bearer', scopes: [], resource: SERVER, clientId: 'app' };
    expect(set.mock.lastCall![1]).toStrictEqual({ tokens });
  });
});

describe('a client', () => {
  const forgotten = { status: 401, body: { error: 'invalid_client' } };

  test('that the application gave is kept, and the user is not asked twice', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => (world.loginUrls.length === 1 ? forgotten : undefined);
    const store = await holding({ clientId: CLIENT.clientId, refreshToken: undefined });
    const { redirect, closed } = scriptedLogin(world);
    const authorizer = world.authorizer({ store, redirect, client: CLIENT });
    await expect(send(authorizer, fresh())).rejects.toMatchObject({ error: 'invalid_client' });
    expect([world.loginUrls.length, closed()]).toEqual([1, 1]);
    expect((await store.get(KEY))!.client).toEqual(REGISTERED);
  });

  test('that was just registered but is unknown causes an error', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => (world.loginUrls.length < 4 ? forgotten : undefined);
    const { redirect, closed } = scriptedLogin(world);
    await expect(send(world.authorizer({ redirect }))).rejects.toMatchObject({ error: 'invalid_client' });
    expect([world.loginUrls.length, world.registrations.length, closed()]).toEqual([2, 2, 2]);
  });

  test('is registered again after an abandoned login, and its tokens are kept', async () => {
    const world = new OAuthWorld();
    const store = await holding({ refreshToken: undefined });
    const { tokens } = (await store.get(KEY))!;
    const late = scriptedLogin(world, () => Promise.reject(new OAuthError('timeout', 'late')));
    await expect(send(world.authorizer({ store, redirect: late.redirect }), fresh())).rejects.toMatchObject({
      code: 'timeout',
    });
    expect(late.former).toEqual([[REDIRECT]]);
    expect(await store.get(KEY)).toStrictEqual({ tokens });
    const { redirect, former } = scriptedLogin(world);
    await send(world.authorizer({ store, redirect }), fresh());
    expect([former, world.registrations.length]).toEqual([[[]], 1]);
  });

  test('is kept after an abandoned login if another login has registered it meanwhile', async () => {
    const world = new OAuthWorld();
    const store = await holding({ refreshToken: undefined });
    const { redirect } = scriptedLogin(world, async () => {
      const { client, ...rest } = (await store.get(KEY))!;
      await store.set(KEY, { ...rest, client: { ...client!, clientId: 'newer' } });
      throw new OAuthError('timeout', 'late');
    });
    await expect(send(world.authorizer({ store, redirect }), fresh())).rejects.toMatchObject({ code: 'timeout' });
    expect((await store.get(KEY))?.client?.clientId).toBe('newer');
  });

  test('that another process has removed meanwhile makes an abandoned login fail as any other', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    const { redirect } = scriptedLogin(world, async () => {
      for (const issuer of await store.issuers(SERVER)) await store.delete({ ...KEY, issuer });
      throw new OAuthError('timeout', 'late');
    });
    await expect(send(world.authorizer({ store, redirect }))).rejects.toMatchObject({ code: 'timeout' });
    expect(await store.issuers(SERVER)).toEqual([]);
  });

  test('without tokens is removed from the store after an abandoned login', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    const { redirect } = scriptedLogin(world, () => Promise.reject(new OAuthError('timeout', 'late')));
    await expect(send(world.authorizer({ store, redirect }))).rejects.toMatchObject({ code: 'timeout' });
    expect(world.registrations).toHaveLength(1);
    expect(await store.issuers(SERVER)).toEqual([]);
  });

  test.each([
    ['the login returns the response to another request', () => Promise.resolve(new URLSearchParams({ state: 'x' }))],
    ['the browser does not open', () => Promise.reject(new Error('no browser'))],
  ])('is kept if %s', async (_, authorize) => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    const { redirect, closed } = scriptedLogin(world, authorize);
    await expect(send(world.authorizer({ store, redirect }))).rejects.toThrow(
      /The authorization response does not have the state|no browser/,
    );
    expect(await store.get(KEY)).toEqual({ client: REGISTERED });
    expect(closed()).toBe(1);
  });

  test('has no id if the authorization server does not support metadata URLs', async () => {
    const world = new OAuthWorld();
    const assertion = (): Promise<string> => Promise.resolve('the-jwt');
    const clientMetadataUrl = 'https://app.example/client.json';
    await expect(send(world.authorizer({ assertion, clientMetadataUrl }))).rejects.toMatchObject({
      code: 'registration',
      message: `${ISSUER} does not support client ID metadata documents: register a client there, and set client.clientId`,
    });
    expect(world.tokenRequests).toEqual([]);
  });
});

describe('DPoP', () => {
  const proof = (world: OAuthWorld): string | undefined =>
    world.asked.find(({ url }) => url.endsWith('/token'))!.headers['dpop'];

  test('is used if the application requires it, even if the server does not', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => world.issue({ token_type: 'DPoP' });
    expect((await send(world.authorizer({ dpop: true }))).sent).toEqual([undefined, 'DPoP access-1']);
    expect(proof(world)).toBeDefined();
  });

  test('is not used if the application forbids it, even if the server requires it', async () => {
    const world = new OAuthWorld();
    world.resource({ dpop_bound_access_tokens_required: true });
    expect((await send(world.authorizer({ dpop: false }), anyToken)).sent).toEqual([undefined, 'Bearer access-1']);
    expect(proof(world)).toBeUndefined();
  });

  test('causes an error if the application requires it and the authorization server does not support it', async () => {
    await expect(send(new OAuthWorld().authorizer({ dpop: true }))).rejects.toMatchObject({
      code: 'token',
      message: `${ISSUER} does not issue tokens that are bound to a key (DPoP)`,
    });
  });
});
