import { describe, expect, test } from 'vitest';
import { sessionStoreSuite } from '../testing/contracts/session-store-suite.ts';
import { memorySessionStore } from './memory-sessions.ts';

describe('the contract', () => {
  for (const { name, run } of sessionStoreSuite((bounds) => memorySessionStore(bounds))) test(name, run);
});

test.each(['maxSessions', 'maxRecordBytes', 'maxBytes', 'maxAge'])('%s must be a number of at least 0', (name) => {
  for (const bound of [-1, Number.NaN]) {
    expect(() => memorySessionStore({ [name]: bound })).toThrow(`${name} must be 0 or more, not ${bound}`);
  }
});
