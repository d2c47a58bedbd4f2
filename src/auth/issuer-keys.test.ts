import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestIssuer } from '../../test/support/issuer.ts';
import type { HttpCall } from '../transport/http/server/call.ts';
import { jwtVerifier, type JwtVerifierOptions } from './jwt.ts';
import { InvalidToken, type TokenVerifier } from './token-verifier.ts';

const AUDIENCE = 'https://mcp.example.com/mcp';
let issuer: TestIssuer;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  // So that ages differ from times.
  vi.advanceTimersByTime(24 * 3600_000);
  issuer = await TestIssuer.start();
});
afterEach(async () => {
  vi.useRealTimers();
  await issuer.close();
});

const verifier = (options: Partial<JwtVerifierOptions> = {}): TokenVerifier =>
  jwtVerifier({ issuer: issuer.url, audience: AUDIENCE, ...options });
const check = async (verify: TokenVerifier, token: string): Promise<unknown> => {
  const auth = await verify(token, {} as HttpCall);
  return auth?.principal;
};
const later = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1000);

test('keys are found through the metadata of the issuer, once for all waiting tokens', async () => {
  const verify = verifier();
  const tokens = await Promise.all([1, 2, 3].map(() => issuer.token(AUDIENCE)));
  const alice = `${issuer.url}#alice`;
  expect(await Promise.all(tokens.map((token) => check(verify, token)))).toEqual([alice, alice, alice]);
  expect(issuer.asked).toEqual(['/.well-known/oauth-authorization-server', '/keys']);
  await check(verify, tokens[0]!);
  expect(issuer.asked).toHaveLength(2);
});

test('the URL of the keys can be given directly', async () => {
  expect(await check(verifier({ jwksUri: `${issuer.origin}/keys` }), await issuer.token(AUDIENCE))).toBeDefined();
  expect(issuer.asked).toEqual(['/keys']);
});

test.each([
  ['/tenant', '/.well-known/oauth-authorization-server/tenant', 1],
  ['/tenant', '/.well-known/openid-configuration/tenant', 2],
  ['/tenant', '/tenant/.well-known/openid-configuration', 3],
  ['/', '/.well-known/openid-configuration', 2],
  ['', '/.well-known/openid-configuration', 2],
])('the metadata of an issuer at %j is found at %s', async (path, metadataPath, tries) => {
  await issuer.close();
  issuer = await TestIssuer.start(path);
  issuer.metadataPath = metadataPath;
  expect(await check(verifier(), await issuer.token(AUDIENCE))).toBe(`${issuer.url}#alice`);
  expect(issuer.asked.indexOf(metadataPath)).toBe(tries - 1);
});

test.each([
  [{ issuer: 'https://honest.example' }, 'belongs to another issuer'],
  [{ jwks_uri: 7 }, 'has no jwks_uri'],
  [
    { jwks_uri: 'http://issuer.example/keys' },
    '/.well-known/oauth-authorization-server: jwks_uri must be an https URL',
  ],
])('metadata with %j is refused', async (metadata, problem) => {
  issuer.metadata = metadata;
  await expect(check(verifier(), await issuer.token(AUDIENCE))).rejects.toThrow(problem);
});

test('a new key is found, and a removed key is dropped when the cached keys expire', async () => {
  const verify = verifier();
  const old = await issuer.token(AUDIENCE, { exp: Math.floor(Date.now() / 1000) + 3600 });
  await check(verify, old);
  await issuer.rotate();
  const token = await issuer.token(AUDIENCE, { exp: Math.floor(Date.now() / 1000) + 3600 });
  // So soon after the last fetch, the key is not looked for.
  later(29.999);
  await expect(check(verify, token)).rejects.toThrow(InvalidToken);
  expect(issuer.asked).toHaveLength(2);
  later(0.001);
  expect(await check(verify, token)).toBeDefined();
  expect(issuer.asked).toHaveLength(4);
  await expect(check(verify, old)).rejects.toThrow(InvalidToken);
});

test('a revoked key is not used for longer than 10 minutes', async () => {
  const verify = verifier();
  const token = await issuer.token(AUDIENCE, { exp: Math.floor(Date.now() / 1000) + 3600 });
  await check(verify, token);
  await issuer.rotate();
  later(599.999);
  expect(await check(verify, token)).toBeDefined();
  later(0.001);
  await expect(check(verify, token)).rejects.toThrow(InvalidToken);
});

test('tokens with unknown keys do not cause requests to the issuer', async () => {
  const verify = verifier();
  await check(verify, await issuer.token(AUDIENCE));
  later(31);
  const made = await Promise.all([1, 2, 3, 4].map((n) => issuer.token(AUDIENCE, {}, { kid: `made-up-${n}` })));
  const outcomes = await Promise.allSettled(made.map((token) => check(verify, token)));
  expect(outcomes.map(({ status }) => status)).toEqual(made.map(() => 'rejected'));
  expect(issuer.asked).toHaveLength(4);
});

test('an unreachable issuer causes an error, and is asked again after 5 seconds', async () => {
  const verify = verifier();
  const token = await issuer.token(AUDIENCE);
  issuer.status = 503;
  const failure = await check(verify, token).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Error);
  expect(failure).not.toBeInstanceOf(InvalidToken);
  const place = `${issuer.origin}/.well-known`;
  expect((failure as Error).message).toBe(
    `${place}/oauth-authorization-server: status 503; ${place}/openid-configuration: status 404`,
  );
  const asked = issuer.asked.length;
  issuer.status = 200;
  await expect(check(verify, token)).rejects.toBe(failure);
  expect(issuer.asked).toHaveLength(asked);
  later(5);
  expect(await check(verify, token)).toBeDefined();
});

test.each([-1, 1])('a clock that is changed by %i hours has no effect', async (hours) => {
  const verify = verifier();
  const token = await issuer.token(AUDIENCE, { exp: Math.floor(Date.now() / 1000) + 3 * 3600 });
  await check(verify, token);
  vi.setSystemTime(Date.now() + hours * 3_600_000);
  const asked = issuer.asked.length;
  await check(verify, token);
  expect(issuer.asked).toHaveLength(asked);
  issuer.status = 503;
  later(5000);
  await expect(check(verify, token)).rejects.toThrow('status 503');
  vi.setSystemTime(Date.now() - hours * 3_600_000);
  issuer.status = 200;
  later(5);
  expect(await check(verify, token)).toBeDefined();
});

describe('if the issuer is unreachable when its keys expire', () => {
  const lasting = (): Promise<string> => issuer.token(AUDIENCE, { exp: Math.floor(Date.now() / 1000) + 3 * 3600 });

  test('the old keys are used for one more hour, and each failed fetch is reported once', async () => {
    const errors: Error[] = [];
    const verify = verifier({ onerror: (error) => errors.push(error) });
    const token = await lasting();
    const fetched = performance.now();
    await check(verify, token);
    issuer.status = 503;
    later(601);
    const all = await Promise.all([1, 2, 3].map(() => check(verify, token)));
    expect(all).toEqual([1, 2, 3].map(() => `${issuer.url}#alice`));
    await check(verify, token);
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('status 503')]);
    later(5);
    expect(await check(verify, token)).toBeDefined();
    await vi.waitFor(() => expect(errors).toHaveLength(2));
    vi.advanceTimersByTime(fetched + 70 * 60_000 - 1 - performance.now());
    expect(await check(verify, token)).toBeDefined();
    await vi.waitFor(() => expect(errors).toHaveLength(3));
    vi.advanceTimersByTime(1);
    await expect(check(verify, token)).rejects.toThrow('status 503');
    expect(errors).toHaveLength(3);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('thrown by onerror');
      },
    ],
    ['rejects', () => Promise.reject(new Error('thrown by onerror'))],
  ])('the old keys are used although onerror %s', async (_, onerror: () => unknown) => {
    const report = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => report.mockRestore());
    const verify = verifier({ onerror });
    const token = await lasting();
    await check(verify, token);
    issuer.status = 503;
    later(601);
    expect(await check(verify, token)).toBeDefined();
    later(5);
    expect(await check(verify, token)).toBeDefined();
    await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(2));
    expect(report).toHaveBeenLastCalledWith(expect.stringContaining('thrown by onerror'));
  });

  test('without onerror, the report has no control characters of the issuer', async () => {
    const report = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => report.mockRestore());
    let answer = (url: string): Promise<Response> => fetch(url);
    const verify = verifier({ fetch: (url) => answer(url as string) });
    const token = await lasting();
    await check(verify, token);
    answer = () => Promise.resolve(new Response('\u001b]0;title\u0007'));
    later(601);
    expect(await check(verify, token)).toBeDefined();
    expect(report).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(String.raw`\u001b]0;title\u0007`));
    expect(report.mock.calls.flat().join()).not.toContain('\u001b');
  });

  test('callers wait only for the first attempt that fails', async () => {
    let answer = (url: string): Promise<Response> => fetch(url);
    const verify = verifier({ fetch: (url) => answer(url as string), onerror: () => {} });
    const token = await lasting();
    await check(verify, token);
    later(601);
    answer = () => Promise.reject(new Error('down'));
    await check(verify, token);
    later(5);
    answer = () => new Promise(() => {});
    expect(await check(verify, token)).toBe(`${issuer.url}#alice`);
  });

  test('a token with an unknown key fails', async () => {
    const verify = verifier({ onerror: () => {} });
    await check(verify, await lasting());
    issuer.status = 503;
    later(601);
    await issuer.rotate();
    await expect(check(verify, await lasting())).rejects.toThrow('status 503');
  });

  test('new keys are used as soon as the issuer is reachable', async () => {
    const verify = verifier({ onerror: () => {} });
    const old = await lasting();
    await check(verify, old);
    issuer.status = 503;
    later(601);
    await check(verify, old);
    await issuer.rotate();
    issuer.status = 200;
    later(5);
    await vi.waitFor(() => expect(check(verify, old)).rejects.toThrow(InvalidToken));
    expect(await check(verify, await lasting())).toBeDefined();
  });
});

test('invalid keys are reported as an error of the issuer, not of the token', async () => {
  const fetch = (): Promise<Response> => Promise.resolve(new Response('{"keys":"none"}'));
  const verify = verifier({ jwksUri: 'https://issuer.example/keys', fetch });
  const failure = await check(verify, await issuer.token(AUDIENCE)).catch((error: unknown) => error);
  expect(failure).not.toBeInstanceOf(InvalidToken);
  expect((failure as Error).message).toContain('malformed');
});
