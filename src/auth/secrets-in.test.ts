import { expect, test } from 'vitest';
import { secretsIn } from './secrets-in.ts';

test('what follows a scheme is a secret, if it is not short', () => {
  expect(secretsIn('Token the-secret')).toEqual(['Token the-secret', 'the-secret']);
  expect(secretsIn('Basic few')).toEqual(['Basic few']);
});

test('the password in Basic credentials is a secret', () => {
  const credentials = 'ada:the-secret';
  const encoded = btoa(credentials);
  expect(secretsIn(`Basic ${encoded}`)).toEqual([`Basic ${encoded}`, encoded, credentials, 'the-secret']);
});
