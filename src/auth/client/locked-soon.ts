import type { CredentialKey, TokenStore } from './token-store.ts';

/** A refresh by another process is over within this time, in milliseconds. */
const MAX_REFRESH = 10_000;

/**
 * Runs a section under the lock of its key. Does not wait for a login of another process, such as that of a bridge which
 * opened a browser that nobody sees: the user has decided otherwise here.
 */
export async function lockedSoon(store: TokenStore, key: CredentialKey, section: () => Promise<void>): Promise<void> {
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), MAX_REFRESH);
  try {
    await store.locked(
      key,
      () => {
        clearTimeout(timer);
        return section();
      },
      waiting.signal,
    );
  } catch (error) {
    if (!waiting.signal.aborted) throw error;
    await section();
  } finally {
    clearTimeout(timer);
  }
}
