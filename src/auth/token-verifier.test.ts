import { expect, test } from 'vitest';
import type { AuthInfo } from '../protocol/types.ts';
import { checkAuthInfo, InvalidToken } from './token-verifier.ts';

test('a principal and a list of scopes are required', () => {
  const auth = { principal: 'ada', scopes: [] };
  expect(checkAuthInfo(auth)).toBe(auth);
});

test.each([
  [{ scopes: [] }, 'verify returned no principal'],
  [{ principal: '', scopes: [] }, 'verify returned no principal'],
  [{ principal: 'ada\udfff', scopes: [] }, 'verify returned no principal'],
  [{ principal: 7, scopes: [] }, 'verify returned no principal'],
  [{ principal: 'ada' }, 'verify returned no scopes'],
  [{ principal: 'ada', scopes: 'read' }, 'verify returned no scopes'],
])('%j is refused', (auth, message) => {
  expect(() => checkAuthInfo(auth as unknown as AuthInfo)).toThrow(new TypeError(message));
});

test('an InvalidToken error has a useful name in logs', () => {
  expect(String(new InvalidToken('revoked'))).toBe('InvalidToken: revoked');
});
