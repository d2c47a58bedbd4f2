import { describe, expect, test } from 'vitest';
import { fetchListener } from '../transport/http/server/fetch.ts';
import { createHttpHandler } from '../transport/http/server/handler.ts';
import { createHealth, type Health } from './health.ts';
import { pagesAt } from './page.ts';

function getterFor(health: Health): (path: string, method?: string) => Promise<{ status: number; body: unknown }> {
  const answer = fetchListener(createHttpHandler({ onsession: () => {}, pages: pagesAt({ ...health.pages }) }));
  return async (path, method = 'GET') => {
    const response = await answer(new Request(`http://localhost${path}`, { method }));
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
}

describe('the health page', () => {
  test('is ready until the server drains, and alive all the time', async () => {
    const health = createHealth({ upstream: () => undefined });
    const get = getterFor(health);
    expect(await get('/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
    expect(await get('/readyz')).toEqual({ status: 200, body: { status: 'ready' } });
    health.drain();
    expect(await get('/readyz')).toEqual({
      status: 503,
      body: { status: 'not ready', problems: { process: 'draining' } },
    });
    expect(await get('/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
    expect((await get('/healthz', 'POST')).status).toBe(405);
  });

  test('names the check that fails, with one word about the reason', async () => {
    let problem: string | undefined = 'unreachable';
    const health = createHealth({
      upstream: () => problem,
      verbose: () => 'ECONNREFUSED 10.0.0.7:5432',
      broken: () => {
        throw new Error('password authentication failed for user "admin"');
      },
    });
    const get = getterFor(health);
    expect(await get('/readyz')).toEqual({
      status: 503,
      body: { status: 'not ready', problems: { upstream: 'unreachable', verbose: 'failing', broken: 'failing' } },
    });
    problem = undefined;
    expect(health.problems).not.toHaveProperty('upstream');
  });

  test('must not be cached', async () => {
    const answer = fetchListener(
      createHttpHandler({ onsession: () => {}, pages: pagesAt({ ...createHealth().pages }) }),
    );
    const response = await answer(new Request('http://localhost/readyz'));
    expect(response.headers.get('cache-control')).toBe('no-store');
  });
});

test('the path of a page must begin with a slash', () => {
  expect(() => pagesAt({ metrics: { answer: () => {} } })).toThrow('must begin with a slash');
});
