import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { loopbackRedirect, type LoopbackOptions } from './loopback-redirect.ts';
import type { LoginAttempt } from './redirect.ts';

const ISSUER = 'https://auth.example';
const STATE = 'the-state';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a login and sends the browser where `browse` says. Returns the outcome, also after the browser is done. */
async function login(
  browse: (redirectUri: string, signal: AbortSignal) => Promise<unknown>,
  options: Partial<LoopbackOptions> = {},
  signal = new AbortController().signal,
): Promise<URLSearchParams> {
  let attempt!: LoginAttempt;
  let browsing: Promise<unknown> | undefined;
  const redirect = loopbackRedirect({ open: (_, over) => (browsing = browse(attempt.redirectUri, over)), ...options });
  attempt = await redirect.start([]);
  try {
    const url = new URL(`${ISSUER}/authorize`);
    return await attempt.authorize({ url, state: STATE, verifier: 'unused', issuer: ISSUER, signal });
  } finally {
    await browsing?.catch(() => {});
    await attempt.close();
  }
}

describe('a login over loopback', () => {
  test('returns the parameters of the redirect, and shows the user a page', async () => {
    let page!: Response;
    const answer = await login(
      async (redirectUri) => {
        page = await fetch(`${redirectUri}?code=a%2Bb&state=${STATE}&iss=${encodeURIComponent(ISSUER)}`);
      },
      { title: '<Notes>' },
    );
    expect(Object.fromEntries(answer)).toEqual({ code: 'a+b', state: STATE, iss: ISSUER });
    expect(page.status).toBe(200);
    const text = await page.text();
    expect(text).toContain('You are signed in.');
    expect(text).toContain('&#60;Notes&#62;');
    expect(text).not.toContain('a+b');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
  });

  test('listens on 127.0.0.1 only, and no longer than needed', async () => {
    let seen!: string;
    await login((redirectUri) => fetch(`${(seen = redirectUri)}?error=access_denied&state=${STATE}`));
    expect(new URL(seen).hostname).toBe('127.0.0.1');
    await expect(fetch(seen)).rejects.toThrow('fetch failed');
  });

  test('keeps waiting after a redirect with the wrong state', async () => {
    const statuses: number[] = [];
    const answer = await login(async (redirectUri) => {
      for (const state of ['', '?code=evil', '?code=evil&state=other', `?code=good&state=${STATE}`]) {
        statuses.push((await fetch(redirectUri + state)).status);
      }
    });
    expect(statuses).toEqual([400, 400, 400, 200]);
    expect(answer.get('code')).toBe('good');
  });

  test('fails if another issuer answers, and does not show the text of that issuer', async () => {
    let text!: string;
    const failed = login(async (redirectUri) => {
      const query = `?error=x&error_description=evil&state=${STATE}&iss=https%3A%2F%2Fevil.example`;
      text = await (await fetch(redirectUri + query)).text();
    });
    await expect(failed).rejects.toMatchObject({ code: 'issuer_mismatch' });
    await expect(failed).rejects.not.toThrow('evil');
    expect(text).not.toContain('evil');
  });

  test('answers only its own path, and only local requests', async () => {
    const statuses: number[] = [];
    await login(async (redirectUri) => {
      statuses.push((await fetch(new URL('/other', redirectUri))).status);
      statuses.push((await fetch(redirectUri, { method: 'POST' })).status);
      const named = redirectUri.replace('127.0.0.1', 'localhost');
      statuses.push((await fetch(`${named}?code=a&state=${STATE}`).catch(() => ({ status: 403 }))).status);
      await fetch(`${redirectUri}?code=a&state=${STATE}`);
    });
    expect(statuses).toEqual([404, 405, 403]);
  });

  test('ends after a timeout', async () => {
    await expect(login(() => Promise.resolve(), { timeout: 20 })).rejects.toMatchObject({ code: 'timeout' });
  });

  test('ends when it is cancelled', async () => {
    const leaving = new AbortController();
    const open = (): void => leaving.abort(new Error('left'));
    await expect(login(() => Promise.resolve(), { open }, leaving.signal)).rejects.toThrow('left');
  });

  test('fails if the URL cannot be shown', async () => {
    await expect(login(() => Promise.reject(new Error('no browser')))).rejects.toThrow('no browser');
  });

  test('uses the registered port if it is free', async () => {
    const redirect = loopbackRedirect({ open: () => {} });
    const first = await redirect.start([]);
    const second = await redirect.start([first.redirectUri]);
    expect(second.redirectUri).not.toBe(first.redirectUri);
    await first.close();
    const third = await redirect.start(['https://app.example/callback', first.redirectUri]);
    expect(third.redirectUri).toBe(first.redirectUri);
    await Promise.all([second.close(), third.close()]);
    const named = first.redirectUri.replace('127.0.0.1', 'localhost');
    const fourth = await redirect.start([named]);
    expect(fourth.redirectUri).toBe(named);
    await fourth.close();
  });

  test('can also be ended by the address that the user entered', async () => {
    const entered = new URL(`http://127.0.0.1:1/callback?code=typed&state=${STATE}`);
    const answer = await login(() => Promise.resolve(entered));
    expect(answer.get('code')).toBe('typed');
  });

  test('tells whoever asks for this address that it is over', async () => {
    let over!: AbortSignal;
    await login((redirectUri, signal) => {
      over = signal;
      expect(over.aborted).toBe(false);
      return fetch(`${redirectUri}?code=a&state=${STATE}`);
    });
    expect(over.aborted).toBe(true);
  });
});

describe('a fixed redirect URI', () => {
  test('is used with its host, port and path, whatever the client has registered before', async () => {
    const port = await freePort();
    const redirectUri = `http://localhost:${port}/oauth/back`;
    const redirect = loopbackRedirect({ redirectUri, open: () => fetch(`${redirectUri}?code=a&state=${STATE}`) });
    const attempt = await redirect.start(['http://127.0.0.1:1/oauth/back']);
    expect(attempt.redirectUri).toBe(redirectUri);
    const { signal } = new AbortController();
    const url = new URL(ISSUER);
    const answer = await attempt.authorize({ url, state: STATE, verifier: 'unused', issuer: ISSUER, signal });
    expect(answer.get('code')).toBe('a');
    await attempt.close();
  });

  test('is never replaced by another one', async () => {
    const redirectUri = `http://127.0.0.1:${await freePort()}/callback`;
    const redirect = loopbackRedirect({ redirectUri, open: () => {} });
    const first = await redirect.start([]);
    await expect(redirect.start([])).rejects.toThrow(
      `The login cannot return to ${redirectUri}: another program uses the port`,
    );
    await first.close();
  });

  test.each(['https://127.0.0.1:80/', 'http://app.example:8080/callback', 'http://[::1]:80/', 'callback'])(
    'cannot be %s',
    (redirectUri) => {
      expect(() => loopbackRedirect({ redirectUri, open: () => {} })).toThrow(TypeError);
    },
  );
});
