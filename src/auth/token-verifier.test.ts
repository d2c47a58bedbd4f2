import { expect, test } from 'vitest';
import type { AuthInfo } from '../protocol/types.ts';
import { checkAuthInfo, InvalidToken } from './token-verifier.ts';

test.each([{}, { expiresAt: undefined }, { expiresAt: 1.5 }, { expiresAt: Infinity }])(
  'a principal and a list of scopes are required: %j',
  (more) => {
    const auth = { principal: 'ada', scopes: [], ...more };
    expect(checkAuthInfo(auth)).toBe(auth);
  },
);

test.each([
  [{ scopes: [] }, 'verify returned no principal'],
  [{ principal: '', scopes: [] }, 'verify returned no principal'],
  [{ principal: 'ada\udfff', scopes: [] }, 'verify returned no principal'],
  [{ principal: 7, scopes: [] }, 'verify returned no principal'],
  [{ principal: 'ada' }, 'verify returned no scopes'],
  [{ principal: 'ada', scopes: 'read' }, 'verify returned no scopes'],
  // The three that have expired would not count as expired.
  [{ principal: 'ada', scopes: [], expiresAt: '1700000000' }, 'verify returned an expiresAt that is not in seconds'],
  [{ principal: 'ada', scopes: [], expiresAt: '2020-01-01' }, 'verify returned an expiresAt that is not in seconds'],
  [{ principal: 'ada', scopes: [], expiresAt: new Date(0) }, 'verify returned an expiresAt that is not in seconds'],
  [{ principal: 'ada', scopes: [], expiresAt: NaN }, 'verify returned an expiresAt that is not in seconds'],
  [{ principal: 'ada', scopes: [], expiresAt: null }, 'verify returned an expiresAt that is not in seconds'],
])('%j is refused', (auth, message) => {
  expect(() => checkAuthInfo(auth as unknown as AuthInfo)).toThrow(new TypeError(message));
});

test('an InvalidToken error has a useful name in logs', () => {
  expect(String(new InvalidToken('revoked'))).toBe('InvalidToken: revoked');
});
