import { expect, test } from 'vitest';
import { HttpStatusError } from '../transport/http/client/errors.ts';
import { saysForeign } from './era-evidence.ts';

const wrapped = (status: number): Error => new Error('failed', { cause: new HttpStatusError(status, 'no') });

test.each([400, 404, 405, 406, 410, 415, 422])('a status by which a server does not understand: %d', (status) => {
  expect(saysForeign(wrapped(status))).toBe(true);
});

test.each([200, 307, 401, 402, 403, 407, 408, 413, 425, 429, 431, 500, 502, 503])(
  'a status that says nothing of that: %d',
  (status) => {
    expect(saysForeign(wrapped(status))).toBe(false);
  },
);

test('what has no status says nothing, and a cause beyond those that are looked at neither', () => {
  expect(saysForeign(new Error('lost'))).toBe(false);
  expect(saysForeign('lost')).toBe(false);
  let deep: Error = new HttpStatusError(400, 'no');
  for (let n = 0; n < 8; n += 1) deep = new Error('around it', { cause: deep });
  expect(saysForeign(deep)).toBe(false);
});
