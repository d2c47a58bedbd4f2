import { expect, test } from 'vitest';
import { RpcError } from '../jsonrpc/errors.ts';
import { HttpStatusError } from '../transport/http/client/errors.ts';
import { isRefusedUnread, saysForeign, saysOtherRevision } from './era-evidence.ts';

const wrapped = (status: number): Error => new Error('failed', { cause: new HttpStatusError(status, 'no') });

test.each([400, 404, 405, 406, 410, 415, 422])(
  'status %d shows that the server does not understand the revision',
  (status) => {
    expect(saysForeign(wrapped(status))).toBe(true);
  },
);

test.each([200, 307, 401, 402, 403, 407, 408, 413, 425, 429, 431, 500, 502, 503])(
  'status %d does not show that the server has another revision',
  (status) => {
    expect(saysForeign(wrapped(status))).toBe(false);
  },
);

test('an error without a status, or a cause nested too deep, shows nothing', () => {
  expect(saysForeign(new Error('lost'))).toBe(false);
  expect(saysForeign('lost')).toBe(false);
  let deep: Error = new HttpStatusError(400, 'no');
  for (let n = 0; n < 8; n += 1) deep = new Error('around it', { cause: deep });
  expect(saysForeign(deep)).toBe(false);
});

/** The error of a server, with its HTTP status. Over pipes there is no status. */
const refusal = (code: number, status?: number, data?: unknown): RpcError =>
  new RpcError(code, 'no', { data, cause: status === undefined ? undefined : new HttpStatusError(status, 'no') });

test.each<[string, Error, boolean, boolean]>([
  ['the list of its revisions, over pipes', refusal(-32022, undefined, { supported: ['1999-01-01'] }), true, true],
  [
    'a list of revisions that includes the requested one',
    refusal(-32022, 400, { supported: ['2026-07-28'] }),
    true,
    false,
  ],
  ['no list, but that error code, over pipes', refusal(-32022), false, false],
  ['an unsupported version', refusal(-32022, 400), true, false],
  ['wrong headers', refusal(-32020, 400), true, false],
  ['a missing capability', refusal(-32021, 400), false, false],
  ['an unknown method', refusal(-32601, 404), false, false],
  ['invalid parameters', refusal(-32602, 400), false, false],
  ['an invalid request', refusal(-32600, 400), false, true],
  ['another error with 400', refusal(-32000, 400), false, true],
  ['only a status', wrapped(405), false, true],
  ['a status of 401', wrapped(401), false, false],
  ['a status of 500', wrapped(500), false, false],
  ['an ordinary error', refusal(-32600), false, false],
])('%s shows that a server speaks another revision: %j if asked in 2025-11-25, %j in 2026-07-28', (...row) => {
  const [, error, legacy, modern] = row;
  expect(['2025-11-25', '2026-07-28'].map((each) => saysOtherRevision(error, each as '2025-11-25'))).toEqual([
    legacy,
    modern,
  ]);
});

test.each<[number, boolean]>([
  [-32022, true],
  [-32020, true],
  [-32600, true],
  [-32602, false],
  [-32000, false],
])('the error %i shows that the request did not run: %j', (code, unread) => {
  expect(isRefusedUnread(new Error('around it', { cause: refusal(code, 400) }))).toBe(unread);
});
