import { expect, test } from 'vitest';
import { bearerRefusal, insufficientScope } from './challenge.ts';

test('a challenge has its parameters in the given order, without empty ones', () => {
  expect(bearerRefusal(401, 'Who are you?', { b: '2', a: '1', none: undefined, empty: '' })).toEqual({
    status: 401,
    message: 'Who are you?',
    headers: { 'www-authenticate': 'Bearer b="2", a="1"' },
  });
});

test('a value cannot end its parameter', () => {
  expect(bearerRefusal(400, '', { a: 'x", b="y\\\r\nSet-Cookie: ä' }).headers['www-authenticate']).toBe(
    `Bearer a="x', b='y'??Set-Cookie: ?"`,
  );
});

test('a caller without a required scope gets the list of all required scopes', () => {
  expect(insufficientScope(['a', 'b'], 'https://x.example/meta')).toEqual({
    status: 403,
    message: 'The credential does not have all the scopes that this needs: a b',
    scopes: ['a', 'b'],
    headers: {
      'www-authenticate': 'Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x.example/meta"',
    },
  });
});
