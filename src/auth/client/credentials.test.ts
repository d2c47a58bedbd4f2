import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ISSUER, OAuthWorld, REDIRECT, send, SERVER } from '../../../test/support/oauth-world.ts';
import { MemoryTokenStore } from './token-store.ts';

const KEY = { server: SERVER, issuer: ISSUER };
const CLIENT = { clientId: 'app' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A request that never gets its token. */
function stuck(options: object) {
  const store = new MemoryTokenStore();
  const authorizer = new OAuthWorld().authorizer({ client: CLIENT, store, ...options });
  return { store, outcome: send(authorizer).catch((error: unknown) => error) };
}

function signal(): { promise: Promise<void>; fire: () => void } {
  let fire!: () => void;
  return { promise: new Promise<void>((resolve) => (fire = resolve)), fire };
}

test('an assertion that never settles does not block other requests for ever', async () => {
  const begun = signal();
  const { store, outcome } = stuck({ assertion: () => (begun.fire(), new Promise(() => {})) });
  await begun.promise;
  const next = store.locked(KEY, () => Promise.resolve('entered'));
  await vi.advanceTimersByTimeAsync(119_000);
  expect(await Promise.race([next, Promise.resolve('locked out')])).toBe('locked out');
  await vi.advanceTimersByTimeAsync(2000);
  expect(await next).toBe('entered');
  expect(await outcome).toMatchObject({ name: 'OAuthError', code: 'timeout' });
});

test('a user has one hour at most to log in', async () => {
  const begun = signal();
  const close = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const authorize = (): Promise<never> => (begun.fire(), new Promise(() => {}));
  const redirect = { start: () => Promise.resolve({ redirectUri: REDIRECT, authorize, close }) };
  const { store, outcome } = stuck({ redirect });
  await begun.promise;
  const next = store.locked({ ...KEY, issuer: `${ISSUER}#login` }, () => Promise.resolve('entered'));
  await vi.advanceTimersByTimeAsync(3_500_000);
  expect(await Promise.race([next, Promise.resolve('locked out')])).toBe('locked out');
  await vi.advanceTimersByTimeAsync(300_000);
  expect(await next).toBe('entered');
  expect(await outcome).toMatchObject({ name: 'OAuthError', code: 'timeout' });
  expect(close).toHaveBeenCalledOnce();
});
