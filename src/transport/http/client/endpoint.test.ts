import { describe, expect, test, vi } from 'vitest';
import { json, scripted } from '../../../../test/support/http-server.ts';
import { certainlyNotExecuted } from '../../../jsonrpc/error-chain.ts';
import type { Authorizer } from './authorizer.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Endpoint, type HttpClientOptions } from './endpoint.ts';
import { HttpStatusError } from './errors.ts';

function post(url: URL, options: HttpClientOptions = {}, cancellation = new Lifetime()) {
  return new Endpoint(options).send({ method: 'POST', url, headers: {}, body: '{"a":1}', cancellation });
}
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable(),
    (error: unknown) => error as any,
  );

describe('redirects', () => {
  test.each([307, 308])('within the origin are followed if they keep the method: %d', async (status) => {
    const server = await scripted(({ path }, response) => {
      if (path === '/mcp') response.writeHead(status, { location: '/mcp/' }).end();
      else json(response, {});
    });
    expect(await post(server.url, { headers: { authorization: 'Bearer t' } })).toMatchObject({ status: 200 });
    expect(server.asked[1]).toMatchObject({ method: 'POST', path: '/mcp/', body: { a: 1 } });
    expect(server.asked[1]!.headers['authorization']).toBe('Bearer t');
  });

  test('to another origin are not followed: no credential goes there', async () => {
    const other = await scripted((_asked, response) => json(response, {}));
    const server = await scripted((_asked, response) => {
      response.writeHead(307, { location: `${other.url.href}?token=secret` }).end();
    });
    const error = await failure(post(server.url, { headers: { authorization: 'Bearer t' } }));
    expect(error).toBeInstanceOf(HttpStatusError);
    expect(error.message).toContain(`a redirect to another origin, ${other.url.href}, which is not followed`);
    expect(error.message).not.toContain('secret');
    expect(certainlyNotExecuted(error)).toBe(true);
    expect(other.asked).toEqual([]);
  });

  test.each([301, 302, 303])('that would change the method to GET are not followed: %d', async (status) => {
    const server = await scripted((_asked, response) => void response.writeHead(status, { location: '/b' }).end());
    const error = await failure(post(server.url));
    expect(error.message).toContain('may change the method');
    // Some servers redirect after they have run a request.
    expect(certainlyNotExecuted(error)).toBe(false);
    expect(server.asked).toHaveLength(1);
  });

  test('are limited in number', async () => {
    const server = await scripted((_asked, response) => void response.writeHead(307, { location: '/mcp' }).end());
    expect((await failure(post(server.url))).message).toContain('more than 5 redirects');
    const nowhere = await scripted((_asked, response) => void response.writeHead(307).end());
    expect((await failure(post(nowhere.url))).message).toContain('without a valid Location');
  });
});

describe('a server that sends Retry-After', () => {
  test.each([429, 503])('gets the request again at that time: %d', async (status) => {
    const server = await scripted((_asked, response, count) => {
      if (count < 3) response.writeHead(status, { 'retry-after': '0' }).end();
      else json(response, {});
    });
    expect(await post(server.url)).toMatchObject({ status: 200 });
    expect(server.asked).toHaveLength(3);
  });

  test('is awaited only within limits', async () => {
    const often = await scripted((_asked, response) => void response.writeHead(429, { 'retry-after': '0' }).end());
    expect(await failure(post(often.url))).toMatchObject({ status: 429 });
    expect(often.asked).toHaveLength(4);
    const long = await scripted((_asked, response) => void response.writeHead(503, { 'retry-after': '31' }).end());
    const error = await failure(post(long.url));
    expect(error).toMatchObject({ status: 503, message: expect.stringContaining('retry later (31)') });
    expect(long.asked).toHaveLength(1);
  });

  test('is not awaited at all if waiting is not allowed', async () => {
    const server = await scripted((_asked, response) => void response.writeHead(429, { 'retry-after': '0' }).end());
    expect(await failure(post(server.url, { maxRetryAfter: 0 }))).toMatchObject({ status: 429 });
    expect(server.asked).toHaveLength(1);
  });

  test('is not awaited any longer if the caller has left', async () => {
    const cancellation = new Lifetime();
    const server = await scripted((_asked, response) => {
      response.writeHead(503, { 'retry-after': '20' }).end(() => cancellation.abort(new Error('enough')));
    });
    await expect(post(server.url, {}, cancellation)).rejects.toThrow('enough');
  });

  test('does not get the request again if it sends no time, because the request may have run', async () => {
    const server = await scripted((_asked, response) => void response.writeHead(503).end());
    const error = await failure(post(server.url));
    expect(error).toMatchObject({ status: 503 });
    expect(certainlyNotExecuted(error)).toBe(false);
    expect(server.asked).toHaveLength(1);
  });
});

describe('credentials', () => {
  /** Gives one token after another. */
  function tokens(again: boolean | Error) {
    let n = 0;
    return {
      headers: vi.fn<Authorizer['headers']>(() => Promise.resolve({ authorization: `Bearer ${n}` })),
      refused: vi.fn<Authorizer['refused']>(() => {
        n += 1;
        return again instanceof Error ? Promise.reject(again) : Promise.resolve(again);
      }),
    };
  }
  const insufficient = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="a"' };

  test('are added to each request, and renewed after a refusal', async () => {
    const server = await scripted(({ headers }, response) => {
      if (headers.authorization === 'Bearer 0') response.writeHead(401).end();
      else if (headers.authorization === 'Bearer 1') response.writeHead(403, insufficient).end();
      else json(response, {});
    });
    const authorizer = tokens(true);
    expect(await post(server.url, { authorizer })).toMatchObject({ status: 200 });
    expect(authorizer.headers.mock.calls[0]![0]).toEqual({ method: 'POST', url: server.url });
    const [[first], [, reply]] = authorizer.refused.mock.calls as any;
    expect(first).toMatchObject({ method: 'POST', url: server.url, headers: { authorization: 'Bearer 0' } });
    expect(reply.header('www-authenticate')).toContain('insufficient_scope');
  });

  test('are renewed after a refusal whose body cannot be read', async () => {
    const server = await scripted(({ headers }, response) => {
      if (headers.authorization === 'Bearer 1') json(response, {});
      else response.writeHead(401, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('x');
    });
    expect(await post(server.url, { authorizer: tokens(true) })).toMatchObject({ status: 200 });
  });

  test('are not renewed for ever', async () => {
    const server = await scripted((_asked, response) => void response.writeHead(401).end());
    const authorizer = tokens(true);
    expect(await failure(post(server.url, { authorizer }))).toMatchObject({ status: 401 });
    expect(authorizer.refused).toHaveBeenCalledTimes(20);
  });

  test('are requested until the authorizer gives up, and the caller gets its error', async () => {
    const server = await scripted((_asked, response) => void response.writeHead(403, insufficient).end());
    let refusals = 0;
    const authorizer: Authorizer = {
      headers: () => Promise.resolve({}),
      refused: () => {
        refusals += 1;
        return refusals > 5 ? Promise.reject(new Error('asked for five times already')) : Promise.resolve(true);
      },
    };
    await expect(post(server.url, { authorizer })).rejects.toThrow('asked for five times already');
  });

  test('are requested once more only, if the server demands other scopes each time', async () => {
    let n = 0;
    const server = await scripted((_asked, response) => {
      const scope = `s${(n += 1)}`;
      response.writeHead(403, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` }).end();
    });
    const authorizer = tokens(true);
    expect(await failure(post(server.url, { authorizer }))).toMatchObject({
      status: 403,
      message: expect.stringContaining('it requires other scopes') as string,
    });
    expect(authorizer.refused).toHaveBeenCalledTimes(1);
  });

  test('that cannot be obtained fail the request with the reason', async () => {
    const server = await scripted((_asked, response) => void response.writeHead(401).end());
    expect(await failure(post(server.url, { authorizer: tokens(false) }))).toMatchObject({
      status: 401,
      message: expect.stringContaining('it requires other credentials'),
    });
    expect((await failure(post(server.url))).message).toContain(
      'it requires credentials, and none were sent: set headers or an authorizer',
    );
    await expect(post(server.url, { authorizer: tokens(new Error('no consent')) })).rejects.toThrow('no consent');
  });

  test('are not renewed after a 403 that is not about scopes', async () => {
    const server = await scripted((_asked, response) => void response.writeHead(403).end());
    const authorizer = tokens(true);
    expect(await failure(post(server.url, { authorizer }))).toMatchObject({ status: 403 });
    expect(authorizer.refused).not.toHaveBeenCalled();
  });
});
