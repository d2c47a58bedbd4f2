import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { decodeJwt, decodeProtectedHeader, exportJWK, exportPKCS8, generateKeyPair } from 'jose';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  accepts,
  anyToken,
  challenge,
  ISSUER,
  OAuthWorld,
  REDIRECT,
  send,
  SERVER,
  type Answer,
  type Gatekeeper,
} from '../../../test/support/oauth-world.ts';
import {
  FileTokenStore,
  idJag,
  MemoryTokenStore,
  oauth,
  type Authorizer,
  type OAuthError,
  type TokenStore,
} from '../index.ts';

const KEY = { server: SERVER, issuer: ISSUER };
const CLIENT = { clientId: 'app', clientSecret: 'the-client-secret' };

describe('the code flow', () => {
  test('registers, asks the user, and sends the token, all bound to the resource', async () => {
    const world = new OAuthWorld();
    const result = await send(world.authorizer());
    expect(result).toEqual({ let: true, sent: [undefined, 'Bearer access-1'] });
    expect(world.registrations).toEqual([
      {
        client_name: 'MCP client',
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
    ]);
    const [url] = world.loginUrls;
    expect(url!.origin + url!.pathname).toBe(`${ISSUER}/authorize`);
    const { code_challenge, state, ...query } = Object.fromEntries(url!.searchParams);
    expect(query).toEqual({
      response_type: 'code',
      client_id: 'client-of-auth.example',
      redirect_uri: REDIRECT,
      code_challenge_method: 'S256',
      resource: SERVER,
    });
    expect(state!.length).toBeGreaterThan(40);
    const [request] = world.tokenRequests;
    const { code_verifier, ...form } = request!;
    expect(form).toEqual({
      grant_type: 'authorization_code',
      code: 'the-code',
      redirect_uri: REDIRECT,
      client_id: 'client-of-auth.example',
      resource: SERVER,
    });
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(code_verifier));
    expect(Buffer.from(digest).toString('base64url')).toBe(code_challenge);
  });

  test('asks nobody if the server requires no token', async () => {
    const world = new OAuthWorld();
    await send(world.authorizer(), () => undefined);
    expect(world.asked).toEqual([]);
  });

  test('keeps the token for the next request', async () => {
    const world = new OAuthWorld();
    const authorizer = world.authorizer();
    await send(authorizer);
    expect((await send(authorizer)).sent).toEqual(['Bearer access-1']);
    expect(world.loginUrls).toHaveLength(1);
  });

  test('an authorization endpoint that is too long is refused', async () => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { authorization_endpoint: `${ISSUER}/authorize?${'state=1&'.repeat(50_000)}` });
    await expect(send(world.authorizer())).rejects.toMatchObject({ code: 'blocked' });
    expect(world.loginUrls).toEqual([]);
  });

  test("keeps the parameters of the authorization endpoint's URL", async () => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { authorization_endpoint: `${ISSUER}/authorize?tenant=7` });
    await send(world.authorizer());
    expect(world.loginUrls[0]!.searchParams.get('tenant')).toBe('7');
  });

  test('asks the user once for all waiting requests', async () => {
    const world = new OAuthWorld();
    const authorizer = world.authorizer();
    const all = await Promise.all([send(authorizer), send(authorizer), send(authorizer)]);
    expect(all.map(({ sent }) => sent.at(-1))).toEqual(['Bearer access-1', 'Bearer access-1', 'Bearer access-1']);
    expect(world.loginUrls).toHaveLength(1);
    expect(world.registrations).toHaveLength(1);
  });

  test('sends no token to other origins, and ignores their challenges', async () => {
    const world = new OAuthWorld();
    const authorizer = world.authorizer();
    await send(authorizer);
    const elsewhere = { url: new URL('https://evil.example/mcp') };
    const refusal = 'Bearer resource_metadata="https://evil.example/.well-known/oauth-protected-resource"';
    const result = await send(authorizer, () => challenge(401, refusal), elsewhere);
    expect(result).toEqual({ let: false, sent: [undefined] });
    expect(world.read.some((url) => url.includes('evil'))).toBe(false);
  });

  test('is for the URL of the first request if no server is given', async () => {
    const world = new OAuthWorld();
    await send(world.authorizer({ server: undefined }));
    expect(world.tokenRequests[0]!['resource']).toBe(SERVER);
  });

  test('ends when no request waits for it any more', async () => {
    const world = new OAuthWorld();
    const leaving = new AbortController();
    const redirect = {
      start: () =>
        Promise.resolve({
          redirectUri: REDIRECT,
          authorize: () => (leaving.abort(new Error('left')), new Promise<never>(() => {})),
          close: () => Promise.resolve(),
        }),
    };
    await expect(send(world.authorizer({ redirect }), anyToken, { signal: leaving.signal })).rejects.toThrow('left');
  });

  test.each([
    ['state', { state: 'other' }, 'The authorization response does not have the state'],
    ['state', { state: null }, 'The authorization response does not have the state'],
    ['code', { code: null }, 'has no code'],
  ])('refuses a response with a wrong %s: %j', async (_, back, why) => {
    const world = new OAuthWorld();
    world.back = back;
    await expect(send(world.authorizer())).rejects.toThrow(why);
    expect(world.tokenRequests).toEqual([]);
  });

  test('reports the error of the authorization server', async () => {
    const world = new OAuthWorld();
    world.back = { code: null, error: 'access_denied', error_description: 'The user\nsaid no' };
    await expect(send(world.authorizer())).rejects.toMatchObject({
      code: 'authorization',
      error: 'access_denied',
      message: `${ISSUER} did not grant access: access_denied: The user said no`,
    });
  });

  test.each([
    ['absent', undefined],
    ['without S256', ['plain']],
  ])('is refused if the PKCE methods are %s', async (_, methods) => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { code_challenge_methods_supported: methods });
    await expect(send(world.authorizer())).rejects.toMatchObject({ code: 'pkce_unsupported' });
    expect(world.loginUrls).toEqual([]);
  });
});

describe('the issuer of an authorization response', () => {
  test.each([
    [true, ISSUER, true],
    [true, null, false],
    [true, 'https://evil.example', false],
    [undefined, ISSUER, true],
    [undefined, null, true],
    [undefined, 'https://evil.example', false],
    [false, '', false],
    [true, `${ISSUER}/`, false],
    [true, 'https://AUTH.example', false],
    [true, `${ISSUER}:443`, false],
  ])('with support advertised as %s and the value %j is accepted: %s', async (advertised, iss, taken) => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { authorization_response_iss_parameter_supported: advertised });
    world.back = { iss };
    const outcome = await send(world.authorizer()).then(
      ({ let: through }) => through,
      (error: OAuthError) => error.code,
    );
    expect(outcome).toBe(taken ? true : 'issuer_mismatch');
    expect(world.tokenRequests).toHaveLength(taken ? 1 : 0);
  });

  test('is checked before an error is shown', async () => {
    const world = new OAuthWorld();
    world.back = { code: null, error: 'evil', error_description: 'Call this number', iss: 'https://evil.example' };
    const error = await send(world.authorizer()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'issuer_mismatch', error: undefined });
    expect(inspect(error)).not.toMatch(/evil|number/);
  });
});

describe('discovery', () => {
  const WELL_KNOWN = 'https://mcp.example/.well-known/oauth-protected-resource';

  test('reads only the URL in the challenge', async () => {
    const world = new OAuthWorld();
    world.documents.delete(`${WELL_KNOWN}/mcp`);
    world.resource({}, 'https://mcp.example/elsewhere');
    const gate = ({ authorization }: Readonly<Record<string, string>>): ReturnType<typeof anyToken> =>
      authorization ? undefined : challenge(401, 'Bearer resource_metadata="https://mcp.example/elsewhere"');
    expect((await send(world.authorizer(), gate)).let).toBe(true);
    expect(world.read[0]).toBe('https://mcp.example/elsewhere');
    expect(world.read).toHaveLength(2);
  });

  test('tries the well-known URLs in order', async () => {
    const world = new OAuthWorld();
    world.documents.delete(`${WELL_KNOWN}/mcp`);
    world.resource({ resource: 'https://mcp.example' }, WELL_KNOWN);
    await send(world.authorizer());
    expect(world.read.slice(0, 2)).toEqual([`${WELL_KNOWN}/mcp`, WELL_KNOWN]);
    expect(world.tokenRequests[0]!['resource']).toBe('https://mcp.example');
  });

  test('does not take an HTML page for metadata, because some servers answer every path with one', async () => {
    const world = new OAuthWorld();
    world.documents.set(`${WELL_KNOWN}/mcp`, { body: '<!doctype html>' });
    world.resource({ resource: 'https://mcp.example' }, WELL_KNOWN);
    expect((await send(world.authorizer())).let).toBe(true);
  });

  test.each([
    'https://evil.example/mcp',
    'https://mcp.example/other',
    'https://mcp.example/mc',
    'http://mcp.example/mcp',
    '',
    7,
  ])('refuses metadata of another resource: %j', async (resource) => {
    const world = new OAuthWorld();
    world.resource({ resource });
    await expect(send(world.authorizer())).rejects.toMatchObject({ code: 'resource_mismatch' });
    expect(world.read).toHaveLength(1);
  });

  test.each([[undefined], [[]], ['x'], [[7]]])(
    'refuses metadata whose authorization servers are %j',
    async (servers) => {
      const world = new OAuthWorld();
      world.resource({ authorization_servers: servers });
      await expect(send(world.authorizer())).rejects.toMatchObject({ code: 'discovery' });
    },
  );

  const PATHS = [
    `${ISSUER}/.well-known/oauth-authorization-server/tenant`,
    `${ISSUER}/.well-known/openid-configuration/tenant`,
    `${ISSUER}/tenant/.well-known/openid-configuration`,
  ];
  test.each(PATHS)('finds the metadata of an issuer with a path at %s', async (place) => {
    const world = new OAuthWorld();
    const issuer = `${ISSUER}/tenant`;
    world.resource({ authorization_servers: [issuer] });
    world.issuer(issuer, {}, place);
    await send(world.authorizer());
    expect(world.read.slice(1)).toEqual(PATHS.slice(0, PATHS.indexOf(place) + 1));
  });

  test('finds the OpenID metadata of an issuer without a path', async () => {
    const world = new OAuthWorld();
    world.documents.delete(`${ISSUER}/.well-known/oauth-authorization-server`);
    world.issuer(ISSUER, {}, `${ISSUER}/.well-known/openid-configuration`);
    expect((await send(world.authorizer())).let).toBe(true);
  });

  test.each([`${ISSUER}/`, 'https://honest.example', undefined])(
    'refuses metadata of another issuer: %s',
    async (issuer) => {
      const world = new OAuthWorld();
      world.issuer(ISSUER, { issuer });
      await expect(send(world.authorizer())).rejects.toMatchObject({ code: 'issuer_mismatch' });
      expect(world.loginUrls).toEqual([]);
    },
  );

  test.each(['authorization_endpoint', 'token_endpoint', 'registration_endpoint'])(
    'refuses a %s in a private network',
    async (name) => {
      const world = new OAuthWorld();
      world.issuer(ISSUER, { [name]: 'https://169.254.169.254/latest' });
      await expect(send(world.authorizer())).rejects.toMatchObject({ code: 'blocked' });
      expect(world.asked.some(({ url }) => url.includes('169.254'))).toBe(false);
    },
  );

  test('refuses an authorization endpoint that is not a web page', async () => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { authorization_endpoint: 'javascript:alert(1)' });
    await expect(send(world.authorizer())).rejects.toMatchObject({ code: 'blocked' });
  });

  test('does not treat a failing server as one without metadata', async () => {
    const world = new OAuthWorld();
    world.documents.set(`${WELL_KNOWN}/mcp`, { status: 503 });
    await expect(send(world.authorizer())).rejects.toMatchObject({ code: 'unreachable' });
    expect(world.read).toHaveLength(1);
  });

  test('says which server needs the authorization server that does not respond', async () => {
    const world = new OAuthWorld();
    world.documents.set(`${ISSUER}/.well-known/oauth-authorization-server`, { status: 503 });
    const failure = send(world.authorizer());
    await expect(failure).rejects.toMatchObject({ code: 'unreachable' });
    await expect(failure).rejects.toThrow(
      /^\S+\/mcp requires a login, but its authorization server cannot be reached: http/,
    );
  });

  test('uses the authorization server that the application chooses', async () => {
    const world = new OAuthWorld();
    const issuers = [ISSUER, 'https://second.example'];
    world.resource({ authorization_servers: issuers });
    world.issuer(issuers[1]!);
    await send(world.authorizer({ chooseIssuer: (among) => among[1]! }));
    expect(world.loginUrls[0]!.origin).toBe(issuers[1]);
  });
});

describe('a server of 2025-03-26', () => {
  const METADATA = 'https://mcp.example/.well-known/oauth-authorization-server';

  function old(): OAuthWorld {
    const world = new OAuthWorld();
    world.documents.clear();
    return world;
  }

  test.each(['https://mcp.example', 'https://mcp.example/'])(
    'has its metadata at its origin, for the issuer %s',
    async (issuer) => {
      const world = old();
      world.issuer(issuer, { token_endpoint: 'https://mcp.example/oauth/token' }, METADATA);
      expect((await send(world.authorizer())).let).toBe(true);
      const { headers } = world.asked.find(({ url }) => url === METADATA)!;
      expect(headers['mcp-protocol-version']).toBe('2025-03-26');
      expect(world.tokenRequests[0]!['resource']).toBe(SERVER);
    },
  );

  test('has the default endpoints if there is no metadata', async () => {
    const world = old();
    expect((await send(world.authorizer())).let).toBe(true);
    expect(world.loginUrls[0]!.href).toMatch(/^https:\/\/mcp\.example\/authorize\?/);
    expect(world.asked.filter(({ method }) => method === 'POST').map(({ url }) => url)).toEqual([
      'https://mcp.example/register',
      'https://mcp.example/token',
    ]);
  });

  test('is refused if the application disables it', async () => {
    await expect(send(old().authorizer({ legacy: false }))).rejects.toMatchObject({ code: 'discovery' });
  });
});

describe('the client id', () => {
  const DOCUMENT = 'https://app.example/client.json';

  test('is the one that the application gave, if it gave one', async () => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { client_id_metadata_document_supported: true });
    await send(world.authorizer({ client: { clientId: 'app' }, clientMetadataUrl: DOCUMENT }));
    expect(world.loginUrls[0]!.searchParams.get('client_id')).toBe('app');
    expect(world.registrations).toEqual([]);
  });

  test('is the metadata URL if the authorization server supports that', async () => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { client_id_metadata_document_supported: true });
    await send(world.authorizer({ clientMetadataUrl: DOCUMENT }));
    expect(world.tokenRequests[0]!['client_id']).toBe(DOCUMENT);
    expect(world.registrations).toEqual([]);
  });

  test('is registered if the server does not support metadata documents', async () => {
    const world = new OAuthWorld();
    await send(world.authorizer({ clientMetadataUrl: DOCUMENT }));
    expect(world.registrations).toHaveLength(1);
  });

  test('must come from the application if there is no way to get one', async () => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { registration_endpoint: undefined });
    await expect(send(world.authorizer())).rejects.toThrow('set its id (client.clientId, or --client-id)');
  });

  test('is registered with the application’s metadata, and as a web application if it is one', async () => {
    const world = new OAuthWorld();
    const redirect = {
      start: async () => ({ ...(await world.redirect.start([])), redirectUri: 'https://app.example/back' }),
    };
    await send(
      world.authorizer({ redirect, clientMetadata: { client_name: 'Notes', logo_uri: 'https://app.example/logo' } }),
    );
    expect(world.registrations[0]).toMatchObject({
      client_name: 'Notes',
      logo_uri: 'https://app.example/logo',
      application_type: 'web',
      redirect_uris: ['https://app.example/back'],
    });
  });

  test('that is refused causes an error with the reason', async () => {
    const world = new OAuthWorld();
    world.onregister = () => ({ status: 400, body: { error: 'invalid_redirect_uri', error_description: 'Use https' } });
    await expect(send(world.authorizer())).rejects.toMatchObject({
      code: 'registration',
      error: 'invalid_redirect_uri',
      message: `${ISSUER} does not register clients by itself with ${REDIRECT}: invalid_redirect_uri: Use https. Register one there, and set its id (client.clientId, or --client-id)`,
    });
  });

  test.each([{ client_id: 'c'.repeat(16_385) }, { client_id: 'c', client_secret: 's'.repeat(16_385) }])(
    'that could not be sent with a request is not stored, and nobody is asked',
    async (body) => {
      const world = new OAuthWorld();
      world.onregister = () => ({ status: 201, body });
      await expect(send(world.authorizer())).rejects.toMatchObject({
        code: 'registration',
        message: `${ISSUER} sent a client id or secret of more than 16384 characters`,
      });
      expect(world.loginUrls).toEqual([]);
    },
  );

  test('that could not authenticate is not stored, and nobody is asked', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    const body = { client_id: 'c', token_endpoint_auth_method: 'tls_client_auth' };
    world.onregister = () => ({ status: 201, body });
    await expect(send(world.authorizer({ store }))).rejects.toMatchObject({ code: 'registration' });
    expect(world.loginUrls).toEqual([]);
    world.onregister = () => undefined;
    expect((await send(world.authorizer({ store }))).let).toBe(true);
  });

  test('is registered once for all authorizers that share a store', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    await send(world.authorizer({ store }));
    const { client } = (await store.get(KEY))!;
    await store.set(KEY, { client: client! });
    await send(world.authorizer({ store }));
    expect(world.registrations).toHaveLength(1);
    expect(world.loginUrls).toHaveLength(2);
  });

  test.each([
    ['its secret has expired', { secretExpiresAt: 1 }],
    ['it has another redirect URI', { redirectUris: ['http://127.0.0.1:1/callback'] }],
  ])('is registered again if %s', async (_, members) => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    await store.set(KEY, { client: { clientId: 'old', redirectUris: [REDIRECT], ...members } });
    await send(world.authorizer({ store }));
    expect(world.loginUrls[0]!.searchParams.get('client_id')).toBe('client-of-auth.example');
  });

  test('is registered again if the authorization server no longer knows it', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    await store.set(KEY, { client: { clientId: 'old', redirectUris: [REDIRECT] } });
    world.ontoken = ({ body }) =>
      body['client_id'] === 'old' ? { status: 401, body: { error: 'invalid_client' } } : undefined;
    expect((await send(world.authorizer({ store }))).let).toBe(true);
    expect(world.loginUrls.map((url) => url.searchParams.get('client_id'))).toEqual(['old', 'client-of-auth.example']);
  });

  test.each([
    'http://app.example/client.json',
    'https://app.example/',
    'https://app.example',
    'https://app.example/a#b',
  ])('cannot be the URL %s', (clientMetadataUrl) => {
    expect(() => new OAuthWorld().authorizer({ clientMetadataUrl })).toThrow(TypeError);
  });
});

describe('credentials are bound to their issuer', () => {
  const SECOND = 'https://second.example';

  function move(world: OAuthWorld): void {
    world.resource({ authorization_servers: [SECOND] });
    world.issuer(SECOND);
  }

  test('if the server changes its issuer, the client registers again and sends nothing old to the new one', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    const authorizer = world.authorizer({ store });
    await send(authorizer);
    move(world);
    world.asked.length = 0;
    expect((await send(authorizer, accepts('access-2'))).sent).toEqual(['Bearer access-1', 'Bearer access-2']);
    expect(world.registrations).toHaveLength(1);
    expect(JSON.stringify(world.asked)).not.toMatch(/client-of-auth|refresh-1|access-1/);
    // The client may be needed again. The tokens are not.
    expect(await store.get(KEY)).toEqual({ client: { clientId: 'client-of-auth.example', redirectUris: [REDIRECT] } });
    expect(await store.issuers(SERVER)).toEqual([SECOND, ISSUER]);
  });

  test('an expiring token is not refreshed at another issuer', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    await send(world.authorizer({ store }));
    const kept = (await store.get(KEY))!;
    await store.set(KEY, { ...kept, tokens: { ...kept.tokens!, refreshAt: 1, expiresAt: 2 } });
    move(world);
    world.asked.length = 0;
    expect((await send(world.authorizer({ store }))).sent).toEqual([undefined, 'Bearer access-2']);
    expect(JSON.stringify(world.asked)).not.toContain('refresh-1');
  });

  test('tokens are kept until another issuer has issued new ones', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    const authorizer = world.authorizer({ store });
    await send(authorizer);
    const place = 'https://mcp.example/.well-known/oauth-protected-resource/mcp';
    const metadata = world.documents.get(place)!;
    // For a moment, every path is unknown, as while a server is replaced.
    world.documents.delete(place);
    world.onregister = () => ({ status: 404, body: {} });
    await expect(send(authorizer, accepts('access-2'))).rejects.toMatchObject({ code: 'registration' });
    world.documents.set(place, metadata);
    expect((await send(authorizer, accepts('access-2'))).sent).toEqual(['Bearer access-1', 'Bearer access-2']);
    expect(world.tokenRequests.at(-1)).toMatchObject({ grant_type: 'refresh_token', refresh_token: 'refresh-1' });
  });

  test.each([
    ['named', { ...CLIENT, issuer: ISSUER }],
    ['not named', CLIENT],
  ])('a client whose issuer is %s is not sent to another issuer', async (_, client) => {
    const world = new OAuthWorld();
    const authorizer = world.authorizer({ client });
    await send(authorizer);
    move(world);
    world.asked.length = 0;
    await expect(send(authorizer, accepts('access-2'))).rejects.toMatchObject({ code: 'registration' });
    expect(world.tokenRequests).toEqual([]);
    expect(world.loginUrls).toHaveLength(1);
  });

  test('a client metadata URL is valid at every issuer', async () => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { client_id_metadata_document_supported: true });
    const authorizer = world.authorizer({ clientMetadataUrl: 'https://app.example/client.json' });
    await send(authorizer);
    move(world);
    world.issuer(SECOND, { client_id_metadata_document_supported: true });
    expect((await send(authorizer, accepts('access-2'))).let).toBe(true);
    expect(world.registrations).toEqual([]);
  });
});

describe('scopes', () => {
  const asks =
    (scope: string) =>
    ({ authorization }: Readonly<Record<string, string>>): ReturnType<typeof anyToken> =>
      authorization ? undefined : challenge(401, `Bearer scope="${scope}"`);
  const scopeOf = (url: URL | undefined): string | null => url!.searchParams.get('scope');

  test('are those in the challenge', async () => {
    const world = new OAuthWorld();
    world.resource({ scopes_supported: ['all'] });
    await send(world.authorizer(), asks('files:read files:list'));
    expect(scopeOf(world.loginUrls[0])).toBe('files:read files:list');
  });

  test('are those in the metadata if the challenge has none', async () => {
    const world = new OAuthWorld();
    world.resource({ scopes_supported: ['a', 'b'] });
    await send(world.authorizer());
    expect(scopeOf(world.loginUrls[0])).toBe('a b');
  });

  test('include offline_access, with the user’s consent, if the authorization server supports it', async () => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { scopes_supported: ['offline_access'] });
    await send(world.authorizer(), asks('a'));
    expect(scopeOf(world.loginUrls[0])).toBe('a offline_access');
    expect(world.loginUrls[0]!.searchParams.get('prompt')).toBe('consent');
    await send(world.authorizer({ offline: false }), asks('a'));
    expect(scopeOf(world.loginUrls[1])).toBe('a');
    expect(world.loginUrls[1]!.searchParams.has('prompt')).toBe(false);
  });

  const wants =
    (...needed: string[]) =>
    (granted: () => string | null) =>
    ({ authorization }: Readonly<Record<string, string>>): ReturnType<typeof anyToken> => {
      if (!authorization) return challenge(401, 'Bearer scope="read"');
      const missing = needed.filter((scope) => !(granted() ?? '').split(' ').includes(scope));
      return missing.length === 0
        ? undefined
        : challenge(403, `Bearer error="insufficient_scope", scope="${needed.join(' ')}"`);
    };

  test('are stepped up to all that were requested so far, without a refresh', async () => {
    const world = new OAuthWorld();
    const gate = wants('write')(() => scopeOf(world.loginUrls.at(-1)));
    const { sent } = await send(world.authorizer(), gate);
    expect(sent).toEqual([undefined, 'Bearer access-1', 'Bearer access-2']);
    expect(world.loginUrls.map(scopeOf)).toEqual(['read', 'read write']);
    expect(world.tokenRequests.map((form) => form['grant_type'])).toEqual(['authorization_code', 'authorization_code']);
  });

  test('that are missing are requested once for all waiting requests', async () => {
    const world = new OAuthWorld();
    const authorizer = world.authorizer();
    await send(authorizer);
    const gate = wants('write')(() => scopeOf(world.loginUrls.at(-1)));
    await Promise.all(Array.from({ length: 5 }, () => send(authorizer, gate)));
    expect(world.loginUrls).toHaveLength(2);
  });

  test('that do not help are requested again at most twice', async () => {
    const world = new OAuthWorld();
    const gate = wants('write')(() => 'read');
    await expect(send(world.authorizer(), gate)).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(world.loginUrls).toHaveLength(3);
  });

  test('are not requested again after any other 403', async () => {
    const world = new OAuthWorld();
    const authorizer = world.authorizer();
    await send(authorizer);
    for (const header of ['', 'Bearer error="invalid_token"', 'Bearer error="insufficient_scope"', 'Basic realm="x"']) {
      expect((await send(authorizer, () => challenge(403, header))).let).toBe(false);
    }
    expect(world.loginUrls).toHaveLength(1);
  });
});

describe('an expired token', () => {
  test('is refreshed before use, and the refresh token rotates', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const authorizer = world.authorizer({ store });
    await authorizer.refused(
      { method: 'POST', url: new URL(SERVER), headers: {} },
      { status: 401, header: () => 'Bearer' },
    );
    vi.setSystemTime(Date.now() + 3_600_000);
    expect((await send(authorizer)).sent).toEqual(['Bearer access-2']);
    expect(world.tokenRequests[1]).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'refresh-1',
      client_id: 'client-of-auth.example',
      resource: SERVER,
    });
    expect((await store.get(KEY))!.tokens!.refreshToken).toBe('refresh-2');
    expect(world.loginUrls).toHaveLength(1);
  });

  test('is refreshed once for all when the server rejects it', async () => {
    const world = new OAuthWorld();
    const authorizer = world.authorizer();
    await send(authorizer);
    const all = await Promise.all(Array.from({ length: 6 }, () => send(authorizer, accepts('access-2'))));
    for (const { sent } of all) expect(sent.at(-1)).toBe('Bearer access-2');
    expect(world.tokenRequests.map((form) => form['grant_type'])).toEqual(['authorization_code', 'refresh_token']);
  });

  test('keeps its refresh token if no new one arrives', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    world.ontoken = ({ body }) =>
      body['grant_type'] === 'refresh_token' ? world.issue({ refresh_token: undefined }) : undefined;
    const authorizer = world.authorizer({ store });
    await send(authorizer);
    await send(authorizer, accepts('access-2'));
    expect((await store.get(KEY))!.tokens!.refreshToken).toBe('refresh-1');
  });

  test('requires a new login if the refresh token does not work', async () => {
    const world = new OAuthWorld();
    world.ontoken = ({ body }) =>
      body['grant_type'] === 'refresh_token' ? { status: 400, body: { error: 'invalid_grant' } } : undefined;
    const authorizer = world.authorizer();
    await send(authorizer);
    expect((await send(authorizer, accepts('access-2'))).let).toBe(true);
    expect(world.loginUrls).toHaveLength(2);
    expect(world.registrations).toHaveLength(1);
  });

  test.each<Answer>([
    { status: 400, body: { error: 'invalid_request' } },
    { status: 400, body: { error: 'unsupported_grant_type' } },
    { body: { error: 'bad_refresh_token' } },
    { status: 404, body: '<html>' },
  ])('requires a new login if the refresh is refused in any other way: %j', async (refusal) => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    await send(world.authorizer({ store }));
    const kept = (await store.get(KEY))!;
    await store.set(KEY, { ...kept, tokens: { ...kept.tokens!, refreshAt: 1, expiresAt: 2 } });
    world.ontoken = ({ body }) => (body['grant_type'] === 'refresh_token' ? refusal : undefined);
    expect((await send(world.authorizer({ store }))).sent).toEqual([undefined, 'Bearer access-2']);
    expect(world.loginUrls).toHaveLength(2);
  });

  test('with a lifetime beyond all limits is kept in a store of JSON', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    world.lifetime = 1e308;
    await send(world.authorizer({ store }));
    const { expiresAt } = JSON.parse(JSON.stringify((await store.get(KEY))!.tokens)) as { expiresAt: unknown };
    expect(expiresAt).toBeTypeOf('number');
  });

  test('is refreshed after the metadata of the server has moved', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    const refusing = (place: string): Gatekeeper => {
      world.documents.clear();
      world.issuer(ISSUER);
      world.resource({}, place);
      return ({ authorization }) =>
        authorization === undefined ? challenge(401, `Bearer resource_metadata="${place}"`) : undefined;
    };
    await send(world.authorizer({ store }), refusing('https://mcp.example/before'));
    const kept = (await store.get(KEY))!;
    await store.set(KEY, { ...kept, tokens: { ...kept.tokens!, refreshAt: 1, expiresAt: 2 } });
    const { sent } = await send(world.authorizer({ store }), refusing('https://mcp.example/after'));
    expect(sent).toEqual([undefined, 'Bearer access-2']);
    expect(world.loginUrls).toHaveLength(1);
  });

  test.each([429, 500, 503])('requires no login if the authorization server fails with status %i', async (status) => {
    const world = new OAuthWorld();
    world.ontoken = ({ body }) => (body['grant_type'] === 'refresh_token' ? { status } : undefined);
    const authorizer = world.authorizer();
    await send(authorizer);
    await expect(send(authorizer, accepts('access-2'))).rejects.toMatchObject({ code: 'unreachable' });
    expect(world.loginUrls).toHaveLength(1);
  });

  describe('that cannot be refreshed because the authorization server is down', () => {
    async function kept(expiresAt: number): Promise<Authorizer> {
      const world = new OAuthWorld();
      const store = new MemoryTokenStore();
      await send(world.authorizer({ store }));
      const credentials = (await store.get(KEY))!;
      await store.set(KEY, { ...credentials, tokens: { ...credentials.tokens!, refreshAt: 1, expiresAt } });
      world.ontoken = () => ({ status: 503 });
      return world.authorizer({ store });
    }
    const request = { method: 'POST', url: new URL(SERVER) } as const;

    test('causes an error before the server is asked', async () => {
      await expect((await kept(2)).headers(request)).rejects.toMatchObject({ code: 'unreachable' });
    });

    test('is still used while it is valid', async () => {
      const headers = await (await kept(Date.now() + 60_000)).headers(request);
      expect(headers).toEqual({ authorization: 'Bearer access-1' });
    });
  });

  test('is not refreshed again for a request that was sent with an older token', async () => {
    const world = new OAuthWorld();
    const authorizer = world.authorizer();
    await send(authorizer);
    await send(authorizer, accepts('access-2'));
    world.asked.length = 0;
    const late = { method: 'POST', url: new URL(SERVER), headers: { authorization: 'Bearer access-1' } } as const;
    expect(await authorizer.refused(late, { status: 401, header: () => 'Bearer' })).toBe(true);
    expect(world.asked).toEqual([]);
  });

  test('that this process stored is not mistaken for one from another process', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    world.ontoken = () => world.issue({ refresh_token: undefined });
    await send(world.authorizer({ store }));
    const kept = (await store.get(KEY))!;
    await store.set(KEY, { ...kept, tokens: { ...kept.tokens!, refreshAt: 1, expiresAt: 2 } });
    expect((await send(world.authorizer({ store }))).sent).toEqual([undefined, 'Bearer access-2']);
  });

  test('is not refreshed by another client', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    await send(world.authorizer({ store, client: { clientId: 'one' } }));
    expect((await send(world.authorizer({ store, client: { clientId: 'two' } }), accepts('access-2'))).let).toBe(true);
    expect(world.tokenRequests.map((form) => [form['grant_type'], form['client_id']])).toEqual([
      ['authorization_code', 'one'],
      ['authorization_code', 'two'],
    ]);
  });

  test('causes an error if the server never accepts it', async () => {
    const world = new OAuthWorld();
    await expect(send(world.authorizer(), accepts())).rejects.toMatchObject({ code: 'rejected' });
    expect(world.tokens).toBe(2);
  });

  test('is requested at most twice within 10 seconds, by whatever clock, if the server never accepts it', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const world = new OAuthWorld();
    const authorizer = world.authorizer();
    const refused = (): Promise<void> =>
      expect(send(authorizer, accepts())).rejects.toMatchObject({ code: 'rejected' });
    for (let n = 0; n < 20; n++) await refused();
    expect(world.tokens).toBe(2);
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(9999);
    await refused();
    expect(world.tokens).toBe(2);
    vi.advanceTimersByTime(1);
    for (let n = 0; n < 20; n++) await refused();
    expect(world.tokens).toBe(4);
  });

  test.each(['memory', 'files'])(
    'is refreshed by one of several authorizers that share a store in %s',
    async (kind) => {
      const folder = await mkdtemp(path.join(tmpdir(), 'everwire-oauth-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const store = kind === 'memory' ? new MemoryTokenStore() : new FileTokenStore(folder);
      const world = new OAuthWorld();
      const first = world.authorizer({ store });
      await send(first);
      // A refresh token works only once.
      const used = new Set<string>();
      world.ontoken = ({ body }) => {
        const token = body['refresh_token'] as string;
        if (used.has(token)) return { status: 400, body: { error: 'invalid_grant' } };
        used.add(token);
        return undefined;
      };
      const others = Array.from({ length: 4 }, () => world.authorizer({ store }));
      const all = await Promise.all([first, ...others].map((each) => send(each, accepts('access-2'))));
      for (const { sent } of all) expect(sent).toEqual(['Bearer access-1', 'Bearer access-2']);
      expect(used).toEqual(new Set(['refresh-1']));
      expect(world.loginUrls).toHaveLength(1);
    },
  );
});

describe('a client authenticates', () => {
  async function asked(
    methods: string[] | undefined,
    client: object,
  ): Promise<[string | undefined, Record<string, any>]> {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { token_endpoint_auth_methods_supported: methods });
    await send(world.authorizer({ client: { ...CLIENT, ...client } }));
    const { headers, body } = world.asked.find(({ url }) => url.endsWith('/token'))!;
    return [headers['authorization'], body];
  }
  const basic = `Basic ${btoa('app:the-client-secret')}`;

  test.each([
    ['the metadata does not say how', undefined, {}],
    ['the metadata allows both', ['client_secret_post', 'client_secret_basic'], {}],
    ['the client is registered for it', ['client_secret_post'], { authMethod: 'client_secret_basic' }],
  ])('in the header if %s', async (_, methods, client) => {
    const [header, body] = await asked(methods, client);
    expect(header).toBe(basic);
    expect(body).not.toHaveProperty('client_secret');
  });

  test('in the header with form encoding', async () => {
    const [header] = await asked(undefined, { clientId: 'a:b', clientSecret: 'ü +/-._~*' });
    expect(header).toBe(`Basic ${btoa('a%3Ab:%C3%BC+%2B%2F-._%7E*')}`);
  });

  test('in the body if the server supports only that', async () => {
    const [header, body] = await asked(['client_secret_post'], {});
    expect(header).toBeUndefined();
    expect(body).toMatchObject({ client_id: 'app', client_secret: CLIENT.clientSecret });
  });

  test('with only its id if the server supports nothing else', async () => {
    const [header, body] = await asked(['none'], {});
    expect(header).toBeUndefined();
    expect(body).not.toHaveProperty('client_secret');
  });

  test.each([
    ['client_secret_basic', 'basic'],
    ['client_secret_post', 'post'],
    ['none', 'none'],
  ])('with the method that the registration returned: %s', async (method, expected) => {
    const world = new OAuthWorld();
    world.issuer(ISSUER, { token_endpoint_auth_methods_supported: [method] });
    world.onregister = ({ body }) => {
      expect(body['token_endpoint_auth_method']).toBe(method);
      const secret = method === 'none' ? {} : { client_secret: 'registered-secret' };
      return { status: 201, body: { client_id: 'new', ...secret, token_endpoint_auth_method: method } };
    };
    await send(world.authorizer());
    const { headers, body } = world.asked.find(({ url }) => url.endsWith('/token'))!;
    const how = headers['authorization'] ? 'basic' : body['client_secret'] ? 'post' : 'none';
    expect(how).toBe(expected);
  });

  test('with no method that is not supported', async () => {
    await expect(asked(undefined, { authMethod: 'tls_client_auth' })).rejects.toMatchObject({ code: 'registration' });
  });
});

describe('client credentials', () => {
  test('are exchanged for a token, and again when it expires', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => world.issue({ refresh_token: undefined });
    const authorizer = world.authorizer({ clientCredentials: true, client: CLIENT, scopes: ['mcp:read'] });
    expect((await send(authorizer)).let).toBe(true);
    expect(world.tokenRequests).toEqual([{ grant_type: 'client_credentials', resource: SERVER, scope: 'mcp:read' }]);
    expect((await send(authorizer, accepts('access-2'))).let).toBe(true);
    expect(world.loginUrls).toEqual([]);
  });

  test('are exchanged again before the token expires, without waiting for a refusal', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    const options = { clientCredentials: true, client: CLIENT, store };
    await send(world.authorizer(options));
    const kept = (await store.get(KEY))!;
    const { refreshToken: _, ...tokens } = kept.tokens!;
    await store.set(KEY, { tokens: { ...tokens, refreshAt: 1, expiresAt: 2 } });
    expect((await send(world.authorizer(options))).sent).toEqual(['Bearer access-2']);
  });

  test.each(['PEM', 'JWK', 'key'])('are signed with a private key, given as %s', async (form) => {
    const world = new OAuthWorld();
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const key =
      form === 'PEM' ? await exportPKCS8(privateKey) : form === 'JWK' ? await exportJWK(privateKey) : privateKey;
    const client = { clientId: 'app', privateKey: { key, keyId: 'one' } };
    expect((await send(world.authorizer({ clientCredentials: true, client }))).let).toBe(true);
    const { client_assertion: assertion, ...form2 } = world.tokenRequests[0]!;
    expect(form2['client_assertion_type']).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    expect(decodeProtectedHeader(assertion)).toEqual({ alg: 'ES256', kid: 'one' });
    expect(decodeJwt(assertion)).toMatchObject({ iss: 'app', sub: 'app', aud: ISSUER });
  });

  test('do not show a private key that cannot be read', async () => {
    const world = new OAuthWorld();
    const client = { clientId: 'app', privateKey: { key: 'the-secret-key' } };
    const error = await send(world.authorizer({ clientCredentials: true, client })).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'registration' });
    expect(String(error)).not.toContain('the-secret-key');
  });
});

describe('assertions', () => {
  const ISSUED = 'urn:ietf:params:oauth:token-type:id-jag';

  test('of a workload are exchanged for a token, with one attempt', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => ({ status: 400, body: { error: 'invalid_grant' } });
    const authorizer = world.authorizer({ client: { clientId: 'job' }, assertion: () => Promise.resolve('the-jwt') });
    await expect(send(authorizer)).rejects.toMatchObject({ code: 'token', error: 'invalid_grant' });
    expect(world.tokenRequests).toEqual([
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: 'the-jwt',
        client_id: 'job',
        resource: SERVER,
      },
    ]);
  });

  test('are not in the error, even if a server repeats them', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => ({ status: 400, body: { error: 'invalid_grant', error_description: 'no the-signed-jwt' } });
    const assertion = (): Promise<string> => Promise.resolve('the-signed-jwt');
    const failure = await send(world.authorizer({ client: { clientId: 'job' }, assertion })).catch(String);
    expect(failure).toContain('no [redacted]');
    expect(failure).not.toContain('the-signed-jwt');
  });

  test('of an organization come from its identity provider', async () => {
    const world = new OAuthWorld();
    const IDP = 'https://idp.example/token';
    world.ontoken = ({ url }) =>
      url === IDP ? { body: { access_token: 'the-jag', issued_token_type: ISSUED, token_type: 'N_A' } } : undefined;
    const assertion = idJag({
      tokenEndpoint: IDP,
      clientId: 'at-idp',
      clientSecret: 'idp-secret',
      subjectToken: () => 'the-id-token',
      fetch: world.fetch,
    });
    const gate = ({ authorization }: Readonly<Record<string, string>>): ReturnType<typeof anyToken> =>
      authorization ? undefined : challenge(401, 'Bearer scope="chat"');
    expect((await send(world.authorizer({ client: CLIENT, assertion }), gate)).let).toBe(true);
    expect(world.tokenRequests).toEqual([
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        requested_token_type: ISSUED,
        audience: ISSUER,
        resource: SERVER,
        subject_token: 'the-id-token',
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        scope: 'chat',
      },
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: 'the-jag',
        resource: SERVER,
        scope: 'chat',
      },
    ]);
    expect(world.loginUrls).toEqual([]);
  });

  test('of another token type are refused', async () => {
    const world = new OAuthWorld();
    world.ontoken = () => ({ body: { access_token: 'x', issued_token_type: 'urn:x', token_type: 'Bearer' } });
    const fetch = world.fetch;
    const assertion = idJag({ tokenEndpoint: 'https://idp.example/token', clientId: 'a', subjectToken: 'b', fetch });
    await expect(send(world.authorizer({ client: CLIENT, assertion }))).rejects.toThrow('did not issue an ID-JAG');
  });
});

describe('DPoP', () => {
  const bound = (world: OAuthWorld): void => {
    world.ontoken = () => world.issue({ token_type: 'DPoP' });
  };
  const onlyDpop = ({ authorization }: Readonly<Record<string, string>>): ReturnType<typeof anyToken> =>
    authorization ? undefined : challenge(401, 'DPoP algs="ES256"');

  test('is used if the server requires it, with a new proof for each request', async () => {
    const world = new OAuthWorld();
    bound(world);
    const authorizer = world.authorizer();
    expect((await send(authorizer, onlyDpop)).sent).toEqual([undefined, 'DPoP access-1']);
    const { headers } = world.asked.find(({ url }) => url.endsWith('/token'))!;
    const first = decodeProtectedHeader(headers['dpop']!);
    expect(first).toMatchObject({ typ: 'dpop+jwt', alg: 'ES256' });
    const url = new URL(`${SERVER}?a=b`);
    const proofs = await Promise.all(
      [1, 2].map(async () => (await authorizer.headers({ method: 'GET', url }))['dpop']!),
    );
    const [one, two] = proofs.map((proof) => decodeJwt(proof));
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode('access-1'));
    expect(one).toMatchObject({ htm: 'GET', htu: SERVER, ath: Buffer.from(digest).toString('base64url') });
    expect(one!.jti).not.toBe(two!.jti);
    expect(decodeProtectedHeader(proofs[0]!).jwk).toEqual(first.jwk);
    expect(first.jwk).not.toHaveProperty('d');
  });

  test('is used if the metadata requires it, and its key survives a restart', async () => {
    const world = new OAuthWorld();
    const store = new MemoryTokenStore();
    bound(world);
    world.resource({ dpop_bound_access_tokens_required: true });
    await send(world.authorizer({ store }));
    const later = await world.authorizer({ store }).headers({ method: 'POST', url: new URL(SERVER) });
    expect(later['authorization']).toBe('DPoP access-1');
    const { headers } = world.asked.find(({ url }) => url.endsWith('/token'))!;
    expect(decodeProtectedHeader(later['dpop']!).jwk).toEqual(decodeProtectedHeader(headers['dpop']!).jwk);
  });

  test('uses the nonces from the token endpoint and from the server', async () => {
    const world = new OAuthWorld();
    world.ontoken = ({ headers }) => {
      const { nonce } = decodeJwt(headers['dpop']!);
      return nonce === 'of-the-issuer'
        ? world.issue({ token_type: 'DPoP' })
        : { status: 400, body: { error: 'use_dpop_nonce' }, headers: { 'dpop-nonce': 'of-the-issuer' } };
    };
    let nonce = 'first';
    const gate = (headers: Readonly<Record<string, string>>): ReturnType<typeof anyToken> => {
      if (!headers['authorization']) return onlyDpop(headers);
      if (decodeJwt(headers['dpop']!)['nonce'] === nonce) return undefined;
      return { status: 401, headers: { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': nonce } };
    };
    const authorizer = world.authorizer();
    expect((await send(authorizer, gate)).sent).toHaveLength(3);
    nonce = 'second';
    const all = await Promise.all([send(authorizer, gate), send(authorizer, gate)]);
    for (const each of all) expect(each.let).toBe(true);
    expect(world.tokens).toBe(1);
  });

  test('does not retry for ever when a nonce is rejected', async () => {
    const world = new OAuthWorld();
    bound(world);
    const authorizer = world.authorizer();
    await send(authorizer, onlyDpop);
    const headers = { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': 'n' };
    expect(await send(authorizer, () => ({ status: 401, headers }))).toMatchObject({ let: false });
  });

  test('is never dropped if the application requires it', async () => {
    const world = new OAuthWorld();
    await expect(send(world.authorizer({ dpop: true }))).rejects.toThrow(
      'does not issue tokens that are bound to a key',
    );
  });
});

describe('secrets', () => {
  /** All text that an error can show. */
  function shown(error: unknown): string {
    return `${inspect(error, { depth: 20, showHidden: true })}${JSON.stringify(error)}${String((error as Error).stack)}`;
  }

  test.each([
    [
      'that repeats the request',
      (form: object) => ({ status: 400, body: { error: 'x', error_description: JSON.stringify(form) } }),
    ],
    [
      'that returns tokens of a wrong type',
      () => ({ body: { access_token: 'access-9', token_type: 'mac', refresh_token: 'refresh-9' } }),
    ],
    [
      'that returns tokens with an invalid field',
      () => ({ body: { access_token: 'access-9', token_type: 'Bearer', expires_in: 'x' } }),
    ],
    ['that does not return JSON', () => ({ body: 'access-9 the-client-secret' })],
    [
      'that sends a challenge',
      (form: object) => ({
        status: 401,
        headers: {
          'www-authenticate': `Basic error="x", error_description="${JSON.stringify(form).replaceAll('"', '')}"`,
        },
      }),
    ],
  ])('are not in an error caused by a token endpoint %s', async (_, answer) => {
    for (const method of ['client_secret_post', 'client_secret_basic']) {
      const world = new OAuthWorld();
      world.issuer(ISSUER, { token_endpoint_auth_methods_supported: [method] });
      world.ontoken = ({ body }) => answer(body);
      world.back = { code: 'the-secret-code' };
      const error = await send(world.authorizer({ client: CLIENT })).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'token' });
      const text = shown(error);
      const verifier = world.tokenRequests[0]!['code_verifier'];
      for (const secret of ['the-client-secret', 'the-secret-code', 'access-9', 'refresh-9', verifier]) {
        expect(text).not.toContain(secret);
      }
    }
  });

  test('are not in an error of a token endpoint that repeats the header of client_secret_basic', async () => {
    const world = new OAuthWorld();
    const credentials = btoa('app:the-client-secret');
    world.ontoken = ({ headers: { authorization = '' } }) => ({
      status: 400,
      body: { error: 'invalid_client', error_description: `${authorization}, which is ${authorization.slice(6)}` },
    });
    const error = await send(world.authorizer({ client: CLIENT })).catch((thrown: unknown) => thrown);
    expect(world.asked.at(-1)!.headers['authorization']).toBe(`Basic ${credentials}`);
    expect(error).toMatchObject({ code: 'token', error: 'invalid_client' });
    expect(shown(error)).not.toContain(credentials);
  });

  test('are not in an error caused by a broken connection', async () => {
    const world = new OAuthWorld();
    const fetch = ((url: string, init: RequestInit) =>
      url.endsWith('/token')
        ? Promise.reject(Object.assign(new Error('broken'), { init, config: init }))
        : world.fetch(url, init)) as unknown as typeof globalThis.fetch;
    const error = await send(world.authorizer({ fetch, client: CLIENT })).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'unreachable' });
    expect(shown(error)).not.toMatch(/the-code|the-client-secret/);
  });

  test('are not visible in the authorizer', async () => {
    const world = new OAuthWorld();
    const authorizer = world.authorizer({ client: CLIENT });
    await send(authorizer);
    expect(shown(authorizer)).not.toMatch(/access-1|refresh-1|the-client-secret/);
  });
});

test.each([
  ['an authorizer without a grant', {}],
  ['an authorizer with two grants', { clientCredentials: true, assertion: () => Promise.resolve(''), client: CLIENT }],
  ['client credentials without a client', { clientCredentials: true }],
  ['client credentials without a secret', { clientCredentials: true, client: { clientId: 'a' } }],
  ['an assertion without a client', { assertion: () => Promise.resolve('') }],
  [
    'a proxy with a fetch',
    { server: 'https://a.example', clientCredentials: true, client: CLIENT, fetch, proxy: 'http://b.example' },
  ],
  ['a path as the store', { clientCredentials: true, client: CLIENT, store: './tokens' as unknown as TokenStore }],
  ['an invalid scope', { clientCredentials: true, client: CLIENT, scopes: ['a b'] }],
])('%s is refused', (_, options) => {
  expect(() => oauth(options)).toThrow(TypeError);
});
