import { expect, test } from 'vitest';
import type { Authorizer } from '../../transport/http/client/authorizer.ts';
import { authorizedFetch } from './authorized-fetch.ts';

const URL_OF_SERVER = 'https://mcp.example/mcp';

/** An authorizer with a new token after each refusal, and a server that accepts one of them. */
function pair(
  taken: string,
  worth = true,
): { fetch: typeof fetch; seen: [string | null, unknown][]; refused: number[] } {
  let count = 0;
  const refused: number[] = [];
  const seen: [string | null, unknown][] = [];
  const authorizer: Authorizer = {
    headers: async (): Promise<Record<string, string>> => (count === 0 ? {} : { authorization: `Bearer ${count}` }),
    refused: (_, reply) => {
      refused.push(reply.status);
      count += 1;
      return Promise.resolve(worth);
    },
  };
  const server = (async (_: URL, init: RequestInit) => {
    const credential = new Headers(init.headers).get('authorization');
    seen.push([credential, init.body]);
    return new Response('', { status: credential === `Bearer ${taken}` ? 200 : 401 });
  }) as unknown as typeof fetch;
  return { fetch: authorizedFetch(authorizer, server), seen, refused };
}

test('a request is sent again with the new token and the same body', async () => {
  const { fetch, seen } = pair('1');
  expect((await fetch(URL_OF_SERVER, { method: 'post', body: 'hello' })).status).toBe(200);
  expect(seen).toEqual([
    [null, 'hello'],
    ['Bearer 1', 'hello'],
  ]);
});

test('a refusal is returned to the caller if the authorizer has no other token', async () => {
  const { fetch, seen } = pair('1', false);
  expect((await fetch(new URL(URL_OF_SERVER))).status).toBe(401);
  expect(seen).toHaveLength(1);
});

test('a refusal is returned to the caller after twenty retries', async () => {
  const { fetch, seen, refused } = pair('none');
  expect((await fetch(URL_OF_SERVER)).status).toBe(401);
  expect(seen).toHaveLength(21);
  expect(refused).toHaveLength(20);
});

test('a refusal is returned to the caller if the server demands other scopes after a login', async () => {
  let n = 0;
  let logins = 0;
  const authorizer: Authorizer = {
    headers: () => Promise.resolve({}),
    refused: () => Promise.resolve((logins += 1) > 0),
  };
  const server = (async () => {
    const demand = `Bearer error="insufficient_scope", scope="s${(n += 1)}"`;
    return new Response('', { status: 403, headers: { 'www-authenticate': demand } });
  }) as unknown as typeof fetch;
  expect((await authorizedFetch(authorizer, server)(URL_OF_SERVER)).status).toBe(403);
  expect([n, logins]).toEqual([2, 1]);
});

test('a request that cannot be sent twice is not sent at all', async () => {
  const { fetch, seen } = pair('1');
  await expect(fetch(new Request(URL_OF_SERVER))).rejects.toThrow(TypeError);
  await expect(fetch(URL_OF_SERVER, { method: 'POST', body: new ReadableStream() })).rejects.toThrow(TypeError);
  expect(seen).toEqual([]);
});
