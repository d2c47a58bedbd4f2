import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MemoryTokenStore } from './token-store.ts';
import { Deferred } from '../../base/deferred.ts';
import { lockedSoon } from './locked-soon.ts';

const KEY = { server: 'https://mcp.example/', issuer: 'https://auth.example' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A store whose key is locked until `release` resolves. */
function heldStore(): { store: MemoryTokenStore; release: Deferred } {
  const store = new MemoryTokenStore();
  const release = new Deferred();
  void store.locked(KEY, () => release.promise);
  return { store, release };
}

test('tokens wait for a refresh of another process', async () => {
  const { store, release } = heldStore();
  const section = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const done = lockedSoon(store, KEY, section);
  await vi.advanceTimersByTimeAsync(9999);
  expect(section).not.toHaveBeenCalled();
  release.resolve();
  await done;
  expect(section).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

test('tokens do not wait for a login of another process', async () => {
  const { store } = heldStore();
  const section = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const done = lockedSoon(store, KEY, section);
  await vi.advanceTimersByTimeAsync(10_000);
  await done;
  expect(section).toHaveBeenCalledOnce();
});

test('a failure to store tokens is an error, and the section does not run again', async () => {
  const section = vi.fn<() => Promise<void>>(() => Promise.reject(new Error('the disk is full')));
  await expect(lockedSoon(new MemoryTokenStore(), KEY, section)).rejects.toThrow('the disk is full');
  expect(section).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});
