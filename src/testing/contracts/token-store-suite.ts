import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import type { CredentialKey, StoredCredentials, TokenStore } from '../../auth/client/token-store.ts';
import type { SuiteCase } from './event-log-suite.ts';

/** Milliseconds between two writes that must get different file times. */
const PAUSE = 5;
const KEY: CredentialKey = { server: 'https://mcp.example/mcp', issuer: 'https://auth.example' };

/**
 * Test cases for every `TokenStore`.
 *
 * @param open opens the same empty store twice, as two processes would. Called once per case.
 */
export function tokenStoreSuite(
  open: () => readonly [TokenStore, TokenStore] | Promise<readonly [TokenStore, TokenStore]>,
): SuiteCase[] {
  const cases: SuiteCase[] = [];
  const define = (name: string, run: (one: TokenStore, two: TokenStore) => Promise<void>): void => {
    cases.push({ name, run: async () => run(...(await open())) });
  };

  define('stored credentials can be read, also by another process', async (one, two) => {
    const all: StoredCredentials = {
      client: {
        clientId: 'ü"\n',
        clientSecret: 's',
        authMethod: 'none',
        secretExpiresAt: 2,
        redirectUris: ['http://127.0.0.1:1/callback'],
      },
      tokens: { ...tokens('a'), refreshToken: 'r', expiresAt: 1.5, dpopKey: { kty: 'EC', d: 'secret' } },
    };
    await one.set(KEY, all);
    assert.deepEqual(await one.get(KEY), all);
    assert.deepEqual(await two.get(KEY), all);
  });

  define('credentials that were never stored do not exist, and deleting them is not an error', async (one) => {
    assert.equal(await one.get(KEY), undefined);
    await one.delete(KEY);
    assert.deepEqual(await one.issuers(KEY.server), []);
  });

  define('set replaces the credentials completely', async (one, two) => {
    await one.set(KEY, { tokens: tokens('a') });
    await two.set(KEY, { client: { clientId: 'c', redirectUris: [] } });
    assert.deepEqual(await one.get(KEY), { client: { clientId: 'c', redirectUris: [] } });
  });

  define('deleted credentials do not exist any more', async (one, two) => {
    await one.set(KEY, { tokens: tokens('a') });
    await two.delete(KEY);
    assert.equal(await one.get(KEY), undefined);
    assert.deepEqual(await one.issuers(KEY.server), []);
  });

  define('servers and issuers are compared exactly, letter by letter', async (one) => {
    const keys = [
      KEY,
      { ...KEY, issuer: `${KEY.issuer}/` },
      { ...KEY, issuer: 'https://AUTH.example' },
      { ...KEY, server: 'https://mcp.example/' },
      { server: KEY.issuer, issuer: KEY.server },
    ];
    for (const [n, key] of keys.entries()) await one.set(key, { tokens: tokens(String(n)) });
    for (const [n, key] of keys.entries()) assert.equal((await one.get(key))?.tokens?.accessToken, String(n));
    await one.delete(KEY);
    assert.equal((await one.get(keys[1]!))?.tokens?.accessToken, '1');
  });

  define('the credentials that were stored or read are copies', async (one) => {
    const given = { tokens: tokens('a') };
    await one.set(KEY, given);
    given.tokens.accessToken = 'changed';
    const got = await one.get(KEY);
    (got!.tokens as { accessToken: string }).accessToken = 'changed';
    assert.equal((await one.get(KEY))?.tokens?.accessToken, 'a');
  });

  define('the issuers of a server are listed with the most recently written first', async (one, two) => {
    const other = { ...KEY, issuer: 'https://other.example' };
    await one.set(KEY, { tokens: tokens('a') });
    await setTimeout(PAUSE);
    await two.set(other, { tokens: tokens('b') });
    await one.set({ ...KEY, server: 'https://else.example' }, { tokens: tokens('c') });
    assert.deepEqual(await one.issuers(KEY.server), [other.issuer, KEY.issuer]);
    await setTimeout(PAUSE);
    await one.set(KEY, { tokens: tokens('d') });
    assert.deepEqual(await two.issuers(KEY.server), [KEY.issuer, other.issuer]);
  });

  define('functions under the lock of one key run one at a time, and all of them run', async (one, two) => {
    let inside = 0;
    let most = 0;
    const section = async (store: TokenStore): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      const { tokens: before } = (await store.get(KEY)) ?? {};
      await setTimeout(PAUSE);
      await store.set(KEY, { tokens: tokens(String(Number(before?.accessToken ?? 0) + 1)) });
      inside -= 1;
    };
    await Promise.all([one, two, one, two, one, two].map((store) => store.locked(KEY, () => section(store))));
    assert.equal(most, 1);
    assert.equal((await one.get(KEY))?.tokens?.accessToken, '6');
  });

  define(
    'locked returns the result of its function, and releases the lock if the function throws',
    async (one, two) => {
      assert.equal(await one.locked(KEY, () => Promise.resolve(7)), 7);
      await assert.rejects(
        one.locked(KEY, () => Promise.reject(new Error('thrown'))),
        /thrown/,
      );
      assert.equal(await two.locked(KEY, () => Promise.resolve(8)), 8);
    },
  );

  define('a lock does not block other keys', async (one, two) => {
    const other = { ...KEY, issuer: 'https://other.example' };
    const got = await one.locked(KEY, () => two.locked(other, () => Promise.resolve('inner')));
    assert.equal(got, 'inner');
  });

  define('waiting for a lock can be aborted, and the next in the queue still gets it', async (one, two) => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let entered!: () => void;
    const inside = new Promise<void>((resolve) => (entered = resolve));
    const first = one.locked(KEY, () => (entered(), held));
    await inside;
    const leaving = new AbortController();
    const second = two.locked(KEY, () => Promise.reject(new Error('ran')), leaving.signal);
    const third = one.locked(KEY, () => Promise.resolve('third'));
    leaving.abort(new Error('no longer needed'));
    await assert.rejects(second, /no longer needed|abort/i);
    release();
    await first;
    assert.equal(await third, 'third');
  });

  return cases;
}

function tokens(accessToken: string) {
  return { accessToken, tokenType: 'Bearer' as const, scopes: ['a', 'b'], resource: KEY.server, clientId: 'app' };
}
