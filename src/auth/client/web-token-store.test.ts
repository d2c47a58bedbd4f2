import { describe, test } from 'vitest';
import { tokenStoreSuite } from '../../testing/contracts/token-store-suite.ts';
import { WebTokenStore } from './web-token-store.ts';

describe('credentials in the storage of a page', () => {
  const open = (): [WebTokenStore, WebTokenStore] => {
    const items = new Map<string, string>();
    const store = new WebTokenStore({
      getItem: (key) => items.get(key) ?? null,
      setItem: (key, value) => void items.set(key, value),
      removeItem: (key) => void items.delete(key),
    });
    return [store, store];
  };
  for (const { name, run } of tokenStoreSuite(open)) test(name, run);
});
