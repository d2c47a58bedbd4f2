import { exportJWK, generateKeyPair, generateSecret, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestIssuer, type TokenOptions } from '../../test/support/issuer.ts';
import type { HttpCall } from '../transport/http/server/call.ts';
import type { AuthInfo } from '../protocol/types.ts';
import { jwtVerifier, type JwtVerifierOptions } from './jwt.ts';
import { InvalidToken } from './token-verifier.ts';

const AUDIENCE = 'https://mcp.example.com/mcp';
let issuer: TestIssuer;
beforeAll(async () => {
  issuer = await TestIssuer.start();
});
afterAll(() => issuer.close());

const now = (): number => Math.floor(Date.now() / 1000);
async function check(token: string, options: Partial<JwtVerifierOptions> = {}): Promise<AuthInfo | undefined> {
  const verify = jwtVerifier({ issuer: issuer.url, audience: AUDIENCE, jwks: issuer.jwks, ...options });
  return verify(token, {} as HttpCall);
}

test('a token identifies the caller, the client, the scopes and the expiry time', async () => {
  const exp = now() + 60;
  const auth = await check(
    await issuer.token(AUDIENCE, { exp, scope: 'files:read  files:write', email: 'a@b.example' }),
  );
  expect(auth).toEqual({
    principal: `${issuer.url}#alice`,
    clientId: 'app',
    scopes: ['files:read', 'files:write'],
    expiresAt: exp,
    claims: expect.objectContaining({ sub: 'alice', email: 'a@b.example' }),
  });
});

test.each([
  [{ scope: 'a b' }, ['a', 'b']],
  [{ scp: 'a b' }, ['a', 'b']],
  [{ scp: ['a', 'b', 7] }, ['a', 'b']],
  [{ scope: 'a', scp: ['b'] }, ['a']],
  [{ scope: { a: true } }, []],
  [{}, []],
])('a token with %j grants the scopes %j', async (claims, scopes) => {
  expect((await check(await issuer.token(AUDIENCE, claims)))?.scopes).toEqual(scopes);
});

test('the client may be in the azp claim', async () => {
  expect((await check(await issuer.token(AUDIENCE, { client_id: null, azp: 'web' })))?.clientId).toBe('web');
  expect((await check(await issuer.token(AUDIENCE, { client_id: 7 })))?.clientId).toBeUndefined();
});

test.each<[string, Record<string, unknown>, TokenOptions, string]>([
  ['for another server', { aud: 'https://other.example/mcp' }, {}, 'not issued for this server'],
  ['for the host without the path', { aud: 'https://mcp.example.com' }, {}, 'not issued for this server'],
  ['without an audience', { aud: null }, {}, 'not issued for this server'],
  ['of another issuer', { iss: 'https://other.example' }, {}, 'comes from another issuer'],
  ['without an issuer', { iss: null }, {}, 'comes from another issuer'],
  ['that has expired', { exp: now() - 10 }, {}, 'has expired'],
  ['that is not valid yet', { nbf: now() + 600 }, {}, 'not valid yet'],
  ['without an expiry time', { exp: null }, {}, 'no valid exp'],
  ['without a subject', { sub: null }, {}, 'no valid sub'],
  ['with an empty subject', { sub: '' }, {}, 'no valid sub'],
  ['with an unpaired surrogate in its subject', { sub: 'ada\ud800' }, {}, 'no valid sub'],
  ['with a number as subject', { sub: 7 }, {}, 'no valid sub'],
  ['bound to a key (cnf claim)', { cnf: { jkt: 'thumbprint' } }, {}, 'bound to a key'],
  ['of another token type', {}, { typ: 'logout+jwt' }, 'not an access token'],
  ['that is a DPoP proof', {}, { typ: 'dpop+jwt' }, 'not an access token'],
  ['of an unknown token type', {}, { typ: 'atapplication/+jwt' }, 'not an access token'],
  ['of a type that is no text', {}, { typ: 7 as never }, 'not an access token'],
  ['signed with an unknown key', {}, { kid: 'unknown' }, 'not signed with a key of the issuer'],
])('a token %s is refused', async (_what, claims, options, message) => {
  const failure = check(await issuer.token(AUDIENCE, claims, options));
  await expect(failure).rejects.toThrow(InvalidToken);
  await expect(failure).rejects.toThrow(message);
});

test('a token that is no JSON Web Token is refused', async () => {
  for (const token of ['a.b.c', 'e30.e30.', `${await issuer.token(AUDIENCE)}.x`])
    await expect(check(token)).rejects.toThrow('is not');
  await expect(check('a.b.c')).rejects.toThrow('The access token is not valid');
});

test('issuers are compared character by character', async () => {
  await expect(check(await issuer.token(AUDIENCE, { iss: `${issuer.url}/` }))).rejects.toThrow(
    'comes from another issuer',
  );
});

test.each(['at+jwt', 'application/at+jwt', 'AT+JWT', 'JWT', null])('a token of type %j is accepted', async (typ) => {
  expect(await check(await issuer.token(AUDIENCE, {}, { typ }))).toBeDefined();
});

test.each(['JWT', null])('if the type is required, %j is refused', async (typ) => {
  await expect(check(await issuer.token(AUDIENCE, {}, { typ }), { requireType: true })).rejects.toThrow(
    'not an access token',
  );
  expect(await check(await issuer.token(AUDIENCE), { requireType: true })).toBeDefined();
});

test('a token may have several audiences, and a server several resource names', async () => {
  expect(await check(await issuer.token(AUDIENCE, { aud: ['https://other.example', AUDIENCE] }))).toBeDefined();
  expect(await check(await issuer.token('api://mcp'), { audience: [AUDIENCE, 'api://mcp'] })).toBeDefined();
});

test('clocks may differ by the tolerance and not more', async () => {
  const token = await issuer.token(AUDIENCE, { exp: now() - 3 });
  expect(await check(token)).toBeDefined();
  await expect(check(token, { clockTolerance: 0 })).rejects.toThrow('has expired');
});

test('a token without a signature is refused', async () => {
  const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'alice', exp: now() + 60 };
  await expect(check(new UnsecuredJWT(claims).encode())).rejects.toThrow(InvalidToken);
});

test('a token signed with a public value is refused', async () => {
  const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'alice', exp: now() + 60 };
  const key = issuer.jwks.keys[0]!;
  for (const secret of [Buffer.from(JSON.stringify(key)), Buffer.from(key.x!, 'base64url')]) {
    const header = { alg: 'HS256', kid: key.kid!, typ: 'at+jwt' };
    const token = await new SignJWT(claims).setProtectedHeader(header).sign(secret);
    await expect(check(token)).rejects.toThrow(InvalidToken);
  }
});

test('a token that contains its own key is refused', async () => {
  const other = await TestIssuer.start();
  const token = await other.token(AUDIENCE, { iss: issuer.url });
  await other.close();
  await expect(check(token)).rejects.toThrow('not signed with a key of the issuer');
});

test.each(['', 'garbage', 'a.b.c', 'a.b.c.d.e', '..', `${'a'.repeat(5000)}.b.c`])(
  '%.20j is not a token',
  async (token) => {
    await expect(check(token)).rejects.toThrow(InvalidToken);
  },
);

test('a token cannot choose the URL of its key', async () => {
  const several = await TestIssuer.start();
  const first = await several.token(AUDIENCE, {}, { kid: null });
  await several.rotate({ forget: false });
  const second = await several.token(AUDIENCE, {}, { kid: null });
  const options = { issuer: several.url, jwks: several.jwks };
  for (const token of [first, second]) expect(await check(token, options)).toBeDefined();
  const expired = await several.token(AUDIENCE, { exp: now() - 10 }, { kid: null });
  await expect(check(expired, options)).rejects.toThrow('has expired');
  await several.rotate();
  const third = await several.token(AUDIENCE, {}, { kid: null });
  await several.close();
  await expect(check(third, options)).rejects.toThrow('not signed with a key of the issuer');
});

test.each(['RS256', 'PS256', 'ES384', 'EdDSA'])('a signature may be %s', async (alg) => {
  const other = await TestIssuer.start();
  await other.rotate({ alg });
  const options = { issuer: other.url, jwks: other.jwks };
  const token = await other.token(AUDIENCE);
  await other.close();
  expect(await check(token, options)).toBeDefined();
  await expect(check(token, { ...options, algorithms: ['ES256'] })).rejects.toThrow(InvalidToken);
});

test.each<[string, Partial<JwtVerifierOptions>]>([
  ['asymmetric', { algorithms: ['HS256'] }],
  ['asymmetric', { algorithms: ['none'] }],
  ['issuer must be an https URL', { issuer: 'http://issuer.example' }],
  ['jwksUri must be an https URL', { jwksUri: 'http://issuer.example/keys' }],
  ['absolute', { issuer: 'issuer.example' }],
  ['query', { issuer: 'https://issuer.example/?a' }],
  ['fragment', { issuer: 'https://issuer.example/#a' }],
  ['credentials', { jwksUri: 'https://ada:secret@issuer.example/keys' }],
  ['audience', { audience: [] }],
  ['clockTolerance', { clockTolerance: 301 }],
  ['clockTolerance', { clockTolerance: -1 }],
  ['clockTolerance', { clockTolerance: NaN }],
])('invalid options are refused: %s', (message, options) => {
  const make = () => jwtVerifier({ issuer: 'https://issuer.example', audience: AUDIENCE, ...options });
  expect(make).toThrow(message);
  expect(make).not.toThrow('secret');
});

test.each([0, 300])('a clock tolerance may be %i seconds', (clockTolerance) => {
  expect(() => jwtVerifier({ issuer: 'https://issuer.example', audience: AUDIENCE, clockTolerance })).not.toThrow();
});

test('missing keys are fetched', async () => {
  const asked: unknown[] = [];
  const fetch = (url: unknown): Promise<Response> => {
    asked.push(url);
    return Promise.resolve(Response.json(issuer.jwks));
  };
  const options = { issuer: issuer.url, audience: AUDIENCE, jwksUri: 'https://issuer.example/keys', fetch };
  expect(await jwtVerifier(options)(await issuer.token(AUDIENCE), {} as HttpCall)).toBeDefined();
  expect(asked).toEqual([new URL('https://issuer.example/keys')]);
});

test('a private key among the keys is reported as an error of the issuer, not of the token', async () => {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'alice', exp: now() + 60 };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
  const failure = await check(token, { jwks: { keys: [await exportJWK(privateKey)] } }).catch(
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(Error);
  expect(failure).not.toBeInstanceOf(InvalidToken);
});

test('a symmetric key among the keys of an issuer is never used', async () => {
  const secret = await generateSecret('HS256', { extractable: true });
  const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'alice', exp: now() + 60 };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret);
  const jwks = { keys: [{ ...(await exportJWK(secret)), alg: 'HS256' }] };
  await expect(check(token, { jwks })).rejects.toThrow(InvalidToken);
});
