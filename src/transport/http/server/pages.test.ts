import { describe, expect, test, vi } from 'vitest';
import { fetchListener } from './fetch.ts';
import type { Authenticator } from './access/authenticator.ts';
import { createHttpHandler, type HttpHandlerOptions, type HttpPage } from './handler.ts';

const page = (requiresAuth: boolean): HttpPage => ({
  requiresAuth,
  answer: (call) =>
    call.respond(200, { 'content-type': 'text/plain' }, `${call.method} ${call.path} for ${call.principal}`),
});

const auth: Authenticator = {
  authenticate: (call) =>
    call.header('authorization') === 'Bearer good'
      ? { principal: 'ada', scopes: [] }
      : { status: 401, message: 'no', headers: { 'www-authenticate': 'Bearer' } },
  authorize: () => undefined,
  metadata: () => undefined,
};

function handler(options: Partial<HttpHandlerOptions> = {}) {
  const pages: Record<string, HttpPage> = { '/open': page(false), '/private': page(true) };
  const made = createHttpHandler({ onsession: () => {}, pages: (path) => pages[path], ...options });
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
    fetchListener(made)(new Request(`http://localhost${path}`, { method, headers }));
  return { made, get };
}

describe('pages beside the endpoints', () => {
  test('are found by their path, and write the response themselves', async () => {
    const { get } = handler();
    expect(await (await get('/open')).text()).toBe('GET /open for undefined');
    expect(await (await get('/private')).text()).toBe('GET /private for undefined');
    expect((await get('/other')).status).toBe(404);
  });

  test('require an accepted Host and Origin', async () => {
    const { get } = handler();
    expect((await get('/open', { host: 'evil.example' })).status).toBe(403);
    expect((await get('/open', { origin: 'https://evil.example' })).status).toBe(403);
  });

  test('require authentication only if so configured, and get the caller', async () => {
    const { get } = handler({ auth });
    expect((await get('/open')).status).toBe(200);
    expect((await get('/private')).status).toBe(401);
    const response = await get('/private', { authorization: 'Bearer good' });
    expect(await response.text()).toBe('GET /private for ada');
  });

  test('can be read by web pages of an allowed origin', async () => {
    const { get } = handler({ allowedOrigins: ['https://app.example'] });
    const response = await get('/open', { origin: 'https://app.example' });
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
  });

  test('answer while the handler drains, and after it is closed', async () => {
    const { made, get } = handler();
    made.drain();
    expect((await get('/open')).status).toBe(200);
    await made.close();
    expect((await get('/open')).status).toBe(200);
  });

  test('that throw get status 500 and are reported', async () => {
    const onerror = vi.fn<(error: Error) => void>();
    const answer = (): never => {
      throw new Error('broken');
    };
    const { get } = handler({ pages: () => ({ answer }), onerror });
    expect((await get('/any')).status).toBe(500);
    expect(onerror).toHaveBeenCalledExactlyOnceWith(new Error('broken'));
  });
});
