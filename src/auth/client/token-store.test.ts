import { describe, test } from 'vitest';
import { tokenStoreSuite } from '../../testing/contracts/token-store-suite.ts';
import { MemoryTokenStore } from './token-store.ts';

describe('credentials in memory', () => {
  const open = (): [MemoryTokenStore, MemoryTokenStore] => {
    const store = new MemoryTokenStore();
    return [store, store];
  };
  for (const { name, run } of tokenStoreSuite(open)) test(name, run);
});
