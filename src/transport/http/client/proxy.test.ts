import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { canCertify, certificate } from '../../../../test/support/certificate.ts';
import { rawServer } from '../../../../test/support/http-server.ts';
import { listening, proxyTo } from '../../../../test/support/proxy.ts';
import { GuardedHttp } from '../../../auth/client/guarded-http.ts';
import { pooledHttp } from './pooled-http.ts';

const NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
beforeEach(() => {
  for (const name of NAMES) vi.stubEnv(name, undefined);
});
afterEach(() => void vi.unstubAllEnvs());

const answering = (): Server => createServer((_, response) => response.end('hello'));
const get = async (url: string, send = pooledHttp()): Promise<string> => {
  const reply = await send({ method: 'POST', url: new URL(url), headers: {}, body: '{}' });
  return reply.text(100);
};

test.each(['HTTP_PROXY', 'http_proxy', 'ALL_PROXY'])('%s is used for http URLs', async (name) => {
  const proxy = await proxyTo(await listening(answering()));
  vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
  expect(await get('http://mcp.test/mcp')).toBe('hello');
  expect(proxy.asked).toEqual(['POST http://mcp.test/mcp']);
});

test.runIf(canCertify)('HTTPS_PROXY is used for https URLs, and sees no content', async () => {
  const target = createHttps(certificate('server'), (_, response) => response.end('hello'));
  const proxy = await proxyTo(await listening(target));
  vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${proxy.port}`);
  // The certificate is for loopback.
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  const send = pooledHttp();
  for (let n = 0; n < 2; n += 1) expect(await get('https://mcp.test/mcp', send)).toBe('hello');
  expect(proxy.asked).toEqual(['CONNECT mcp.test:443']);
});

test.runIf(canCertify).each([
  ['localhost', 'localhost'],
  ['127.0.0.1', false],
])('TLS with a proxy at %s is for the name of the proxy, not of the server', async (host, name) => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  const names: unknown[] = [];
  const proxy = createHttps(certificate('proxy'));
  proxy.on('connect', (_, socket) => socket.end('HTTP/1.1 503 No\r\n\r\n'));
  proxy.on('secureConnection', (socket) => void names.push(socket.servername));
  vi.stubEnv('HTTPS_PROXY', `https://${host}:${await listening(proxy)}`);
  await expect(get('https://mcp.test/mcp')).rejects.toThrow('the proxy refused with status 503');
  expect(names).toEqual([name]);
});

test('NO_PROXY lists hosts that need no proxy, and loopback never uses one', async () => {
  const port = await listening(answering());
  const proxy = await proxyTo(port);
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${proxy.port}`);
  expect(await get(`http://127.0.0.1:${port}/mcp`)).toBe('hello');
  expect(await get(`http://localhost:${port}/mcp`)).toBe('hello');
  vi.stubEnv('NO_PROXY', 'example.com,.test');
  await expect(get('http://mcp.test/mcp')).rejects.toThrow('http://mcp.test/mcp cannot be reached');
  expect(proxy.asked).toEqual([]);
});

test('a given proxy is used for every URL, whatever the environment says', async () => {
  const port = await listening(answering());
  const proxy = await proxyTo(port);
  vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:1');
  vi.stubEnv('NO_PROXY', '*');
  const send = pooledHttp({ proxy: new URL(`http://ada:secret@127.0.0.1:${proxy.port}`) });
  for (const url of ['http://mcp.test/mcp', `http://127.0.0.1:${port}/mcp`]) expect(await get(url, send)).toBe('hello');
  expect(proxy.asked).toHaveLength(2);
  expect(proxy.headers[0]!['proxy-authorization']).toBe(`Basic ${btoa('ada:secret')}`);
});

test('with false, no proxy is used', async () => {
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${(await proxyTo(await listening(answering()))).port}`);
  await expect(get('http://mcp.test/mcp', pooledHttp({ proxy: false }))).rejects.toThrow('cannot be reached: ');
});

test.each(['socks5://127.0.0.1:1', '127.0.0.1:1', ''])('%j cannot be a proxy', (proxy) => {
  expect(() => pooledHttp({ proxy })).toThrow('proxy must be an http or https URL');
});

test('the proxy gets the credentials in its URL', async () => {
  const proxy = await proxyTo(await listening(answering()));
  vi.stubEnv('HTTP_PROXY', `http://ada:secret@127.0.0.1:${proxy.port}`);
  expect(await get('http://mcp.test/mcp')).toBe('hello');
  expect(proxy.headers[0]!['proxy-authorization']).toBe(`Basic ${btoa('ada:secret')}`);
});

test.each(['http', 'https'])(
  'the error for a proxy that refuses names it without its password (%s)',
  async (scheme) => {
    const proxy = await proxyTo(0, 407);
    const address = `http://ada:secret@127.0.0.1:${proxy.port}`;
    vi.stubEnv('HTTP_PROXY', address);
    vi.stubEnv('HTTPS_PROXY', address);
    const error = await get(`${scheme}://mcp.test/mcp`).catch((thrown: Error) => thrown);
    expect(String(error)).toContain(`through the proxy http://127.0.0.1:${proxy.port}`);
    expect(String(error)).toContain('the proxy requires authentication (status 407)');
    expect(String(error)).not.toContain('secret');
    expect(proxy.headers[0]!['proxy-authorization']).toBe(`Basic ${btoa('ada:secret')}`);
    // The proxy forwarded nothing, so nothing ran.
    expect(error).toMatchObject({ name: 'NotSent', notExecuted: true });
  },
);

test('any other status from a proxy for http may come from the server', async () => {
  const proxy = await proxyTo(0, 502);
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${proxy.port}`);
  const reply = await pooledHttp()({ method: 'POST', url: new URL('http://mcp.test/mcp'), headers: {}, body: '{}' });
  expect(reply.status).toBe(502);
});

test.each(['http', 'https'])(
  'the error for an unreachable proxy names it without its password (%s)',
  async (scheme) => {
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY']) vi.stubEnv(name, 'http://ada:secret@127.0.0.1:9');
    await expect(get(`${scheme}://mcp.test/mcp`)).rejects.toThrow(
      `${scheme}://mcp.test/mcp cannot be reached through the proxy http://127.0.0.1:9: connect ECONNREFUSED`,
    );
  },
);

test.each(['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'])(
  'the error for an invalid proxy URL names %s',
  async (name) => {
    vi.stubEnv(name, 'socks5://ada:secret@127.0.0.1:9');
    await expect(get('http://mcp.test/mcp')).rejects.toThrow(`${name} names a proxy that is not an http or https URL`);
  },
);

test('a proxy that never opens a tunnel keeps no connection', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const asked: Promise<unknown>[] = [];
  const url = await rawServer((socket) => void asked.push(once(socket.resume(), 'close')));
  vi.stubEnv('HTTPS_PROXY', url.origin);
  const sending = pooledHttp({ connectTimeout: 50 })({ method: 'GET', url: new URL('https://mcp.test/'), headers: {} });
  const failed = sending.catch((error: unknown) => error);
  await expect.poll(() => asked.length).toBe(1);
  vi.advanceTimersByTime(50);
  expect(String(await failed)).toContain('no connection within 50 ms');
  vi.advanceTimersByTime(10_000);
  await asked[0];
});

test('the TLS handshake in a tunnel is part of connecting', async () => {
  const url = await rawServer((socket) => void socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n')));
  vi.stubEnv('HTTPS_PROXY', url.origin);
  const sending = pooledHttp({ connectTimeout: 50 })({ method: 'GET', url: new URL('https://mcp.test/'), headers: {} });
  await expect(sending).rejects.toMatchObject({ name: 'NotSent' });
});

test('the response of a proxy to CONNECT may not be large', async () => {
  const url = await rawServer((socket) => {
    socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}`));
  });
  vi.stubEnv('HTTPS_PROXY', url.origin);
  await expect(get('https://mcp.test/mcp')).rejects.toThrow(`through the proxy ${url.origin}: Parse Error`);
});

test('OAuth requests use the proxy, but not for a private address', async () => {
  const proxy = await proxyTo(0, 503);
  vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${proxy.port}`);
  const http = new GuardedHttp({ server: new URL('https://mcp.test/') });
  await expect(http.get(new URL('https://issuer.test/'), {})).rejects.toThrow('refused with status 503');
  await expect(http.get(new URL('https://10.0.0.1/'), {})).rejects.toMatchObject({ code: 'blocked' });
  expect(proxy.asked).toEqual(['CONNECT issuer.test:443']);
});
