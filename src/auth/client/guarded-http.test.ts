import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Deferred } from '../../base/deferred.ts';
import { rawServer } from '../../../test/support/http-server.ts';
import { GuardedHttp, jsonOf } from './guarded-http.ts';

const PUBLIC = new URL('https://mcp.example/mcp');
const LOCAL = new URL('http://127.0.0.1:1/mcp');

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function refusal(server: URL, address: unknown): unknown {
  try {
    return new GuardedHttp({ server }).permitted(address, 'It');
  } catch (error) {
    return error;
  }
}

/** A server that a test answers for. */
function asking(answer: (url: string, init: RequestInit) => Promise<unknown>): GuardedHttp {
  return new GuardedHttp({ server: LOCAL, fetch: answer as unknown as typeof globalThis.fetch });
}

describe('a URL named by a server', () => {
  test.each([
    ['http://auth.example/', 'is not https'],
    ['ftp://auth.example/', 'is not https'],
    ['javascript:alert(1)', 'javascript: is not https'],
    ['file:///etc/passwd', 'file: is not https'],
    ['https://user:pass@auth.example/', 'contains credentials'],
    ['https://user@auth.example/', 'contains credentials'],
    ['https://:pass@auth.example/', 'contains credentials'],
    [['https://auth.example/'], 'is not an absolute URL'],
    ['not an address', 'is not an absolute URL'],
    [undefined, 'is not an absolute URL'],
    ['https://127.0.0.1/', 'has a loopback address'],
    ['https://localhost/', 'has a loopback address'],
    ['https://[::1]/', 'has a loopback address'],
    ['https://2130706433/', 'has a loopback address'],
    ['https://0x7f.1/', 'has a loopback address'],
    ['https://[::ffff:127.0.0.1]/', 'has a loopback address'],
    ['https://10.0.0.1/', 'has a private address'],
    ['https://[fd00::1]/', 'has a private address'],
    ['https://169.254.169.254/latest/meta-data', 'has a link-local address'],
    ['http://127.0.0.1:9/', 'has a loopback address'],
  ])('is refused for a public server: %s', (address, why) => {
    expect(refusal(PUBLIC, address)).toMatchObject({ code: 'blocked', message: expect.stringMatching(`^It .*${why}`) });
  });

  test.each([
    ['https://10.0.0.1/', 'has a private address'],
    ['https://169.254.169.254/', 'has a link-local address'],
    ['http://auth.example/', 'is not https'],
    ['ftp://localhost/', 'is not https'],
  ])('is refused for a server on loopback: %s', (address, why) => {
    expect(refusal(LOCAL, address)).toMatchObject({ code: 'blocked', message: expect.stringMatching(`^It .*${why}`) });
  });

  test.each([
    [PUBLIC, 'https://auth.example/a?b=c'],
    [PUBLIC, 'https://8.8.8.8/'],
    [LOCAL, 'http://localhost:9000/'],
    [LOCAL, 'http://[::1]:9000/'],
    [LOCAL, 'https://auth.example/'],
    [new URL('http://[::1]:1/mcp'), 'https://127.0.0.1/'],
    [new URL('https://mcp.localhost/mcp'), 'http://127.0.0.1/'],
    [new URL('https://10.1.1.1/mcp'), 'https://192.168.1.1/'],
  ])('is allowed for %s: %s', (server, address) => {
    expect(new GuardedHttp({ server }).permitted(address, 'It').href).toBe(address);
  });

  test('is checked again for each request', async () => {
    const fetch = (): Promise<never> => Promise.reject(new Error('was asked'));
    const http = new GuardedHttp({ server: PUBLIC, fetch });
    const url = new URL('https://10.0.0.1/a');
    await expect(http.get(url, {})).rejects.toThrow(
      'The address https://10.0.0.1 has a private address, but the server has no private address (allowPrivateNetwork allows it)',
    );
    await expect(async () => http.fetch(url.href, { method: 'POST', headers: {} })).rejects.toThrow(
      'The endpoint https://10.0.0.1 has a private address, but the server has no private address (allowPrivateNetwork allows it)',
    );
  });

  test('may resolve to a private address if the application allows it, but never to a link-local one', () => {
    const http = new GuardedHttp({ server: PUBLIC, allowPrivateNetwork: true });
    expect(http.permitted('https://10.0.0.1/', 'It').hostname).toBe('10.0.0.1');
    expect(() => http.permitted('https://169.254.1.1/', 'It')).toThrow('link-local');
  });
});

test('a fetch and a proxy together are refused', () => {
  const options = { server: PUBLIC, fetch: globalThis.fetch, proxy: 'http://127.0.0.1:1' };
  expect(() => new GuardedHttp(options)).toThrow('Set only one of fetch and proxy: a fetch uses its own proxy');
  expect(new GuardedHttp({ ...options, proxy: undefined })).toBeInstanceOf(GuardedHttp);
});

describe('a response', () => {
  const http = new GuardedHttp({ server: LOCAL });

  test('has its status, headers and body', async () => {
    const origin = await serve(({ headers }, response) => {
      response.writeHead(404, { 'dpop-nonce': 'a' });
      response.end(`accept: ${headers.accept}`);
    });
    const response = await http.get(new URL(origin), { accept: 'x/y' });
    expect([response.status, response.headers.get('dpop-nonce'), await response.text()]).toEqual([
      404,
      'a',
      'accept: x/y',
    ]);
  });

  test('is not read if it is too large', async () => {
    const origin = await serve((_, response) => {
      response.on('error', () => {});
      for (let n = 0; n < 20; n++) response.write(Buffer.alloc(100_000));
    });
    await expect(http.get(new URL(origin), {})).rejects.toThrow('larger than 1048576 bytes');
  });

  test('with more than 50,000 keys and values counts as empty, and with as many does not', async () => {
    const list = (length: number): string => JSON.stringify(Array.from({ length }, () => 0));
    const origin = await serve(
      (request, response) => void response.end(list(request.url === '/many' ? 50_000 : 49_999)),
    );
    const lengthAt = async (path: string): Promise<number> =>
      (await (await http.get(new URL(path, origin), {})).text()).length;
    expect([await lengthAt('/many'), await lengthAt('/')]).toEqual([0, list(49_999).length]);
  });

  test('is read if it has exactly the maximum size', async () => {
    const origin = await serve((_, response) => response.end(Buffer.alloc(1024 * 1024)));
    expect((await (await http.get(new URL(origin), {})).arrayBuffer()).byteLength).toBe(1024 * 1024);
  });

  test('belongs to the complete request', async () => {
    const origin = await serve((request, response) => {
      void text(request).then((body) => response.end(`${request.method} ${String(request.headers['x-one'])} ${body}`));
    });
    const post = await http.fetch(origin, {
      method: 'POST',
      headers: { 'x-one': 'a' },
      body: new URLSearchParams('b=c'),
    });
    expect(await post.text()).toBe('POST a b=c');
    const bare = await http.fetch(origin, { method: 'PUT', headers: {} });
    expect(await bare.text()).toBe('PUT undefined ');
    const got = await http.get(new URL(origin), { 'x-one': 'b' });
    expect(await got.text()).toBe('GET b ');
  });

  test('has all headers with the same name', async () => {
    const origin = await serve((_, response) => {
      response.writeHead(401, { 'www-authenticate': ['Basic', 'Bearer'] });
      response.end();
    });
    expect((await http.get(new URL(origin), {})).headers.get('www-authenticate')).toBe('Basic, Bearer');
  });

  test('is cancelled when the signal fires: its connection closes', async () => {
    const leaving = new AbortController();
    const closed = new Deferred();
    const url = await rawServer((socket) => {
      socket.once('close', () => closed.resolve());
      socket.once('data', () => leaving.abort(new Error('left')));
    });
    await expect(http.get(url, {}, leaving.signal)).rejects.toThrow('left');
    await closed.promise;
  });

  test('is not awaited after the signal fires', async () => {
    const leaving = new AbortController();
    const left = new Error('left');
    const origin = await serve(() => leaving.abort(left));
    await expect(http.get(new URL(origin), {}, leaving.signal)).rejects.toBe(left);
  });

  test.each([true, false])('is awaited for ten seconds at most, with a signal of the caller: %s', async (own) => {
    const timeout = new AbortController();
    const spy = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(timeout.signal);
    onTestFinished(() => spy.mockRestore());
    const origin = await serve(() => timeout.abort(new Error('over')));
    await expect(http.get(new URL(origin), {}, own ? new AbortController().signal : undefined)).rejects.toMatchObject({
      code: 'unreachable',
      message: `${origin}/: no answer within 10000 ms`,
    });
    expect(spy).toHaveBeenCalledExactlyOnceWith(10_000);
  });

  test('that breaks off is an error', async () => {
    const url = await rawServer((socket) => void socket.once('data', () => socket.destroy()));
    await expect(http.get(url, {})).rejects.toMatchObject({
      code: 'unreachable',
      message: `${url.href}: the server closed the connection`,
    });
  });

  test('with an impossible status is an error', async () => {
    const url = await rawServer(
      (socket) => void socket.once('data', () => socket.end('HTTP/1.1 600 x\r\ncontent-length: 0\r\n\r\n')),
    );
    await expect(http.get(url, {})).rejects.toThrow(/: status 600$/);
    // A browser shows only this much of a redirect that it does not follow.
    const opaque = asking(() => Promise.resolve({ status: 0, headers: new Headers(), body: null }));
    await expect(opaque.get(LOCAL, {})).rejects.toThrow(/: status 0$/);
  });

  test.each([200, 204, 205, 304, 599])('may have the status %i', async (status) => {
    const origin = await serve((_, response) => {
      response.writeHead(status);
      response.end();
    });
    const response = await http.get(new URL(origin), {});
    expect([response.status, await response.text()]).toEqual([status, '']);
  });

  test('of a custom fetch is used, but its redirects are not followed', async () => {
    const asked: unknown[] = [];
    const own = asking(async (...args) => {
      asked.push(args);
      return new Response(null, { status: 404, headers: { 'dpop-nonce': 'a' } });
    });
    const got = await own.get(LOCAL, { accept: 'x/y' });
    expect([got.status, got.headers.get('dpop-nonce'), await got.text()]).toEqual([404, 'a', '']);
    await own.fetch(LOCAL.href, { method: 'POST', headers: { 'accept-encoding': 'identity' }, body: 'secret' });
    const always = { redirect: 'manual', signal: expect.any(AbortSignal) };
    expect(asked).toEqual([
      [LOCAL.href, { method: 'GET', headers: { 'accept-encoding': 'identity', accept: 'x/y' }, body: null, ...always }],
      [LOCAL.href, { method: 'POST', headers: { 'accept-encoding': 'identity' }, body: 'secret', ...always }],
    ]);
  });

  test.each([
    [
      new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }),
      'ECONNREFUSED (nothing listens there: check that the server runs, and the port)',
    ],
    [new TypeError('fetch failed', { cause: { code: 5 } }), 'fetch failed'],
    [new TypeError('fetch failed', { cause: null }), 'fetch failed'],
    [Object.assign(new Error('x'), { code: 'EPIPE' }), 'EPIPE'],
    [new Error('no way'), 'no way'],
  ])('that does not arrive causes an error with the reason: %s', async (error, why) => {
    const failing = asking(() => Promise.reject(error));
    await expect(failing.get(LOCAL, {})).rejects.toMatchObject({
      code: 'unreachable',
      message: `${LOCAL.href}: ${why}`,
    });
  });

  test('that does not arrive causes an error without the query', async () => {
    await expect(http.get(new URL('http://127.0.0.1:1/a?secret=1'), {})).rejects.toThrow(
      /^http:\/\/127\.0\.0\.1:1\/a: ECONNREFUSED \(nothing listens there: check that the server runs, and the port\)$/,
    );
  });

  test('that switches protocols is an error', async () => {
    const url = await rawServer((socket) => void socket.once('data', () => socket.write(SWITCHING)));
    await expect(http.get(url, {})).rejects.toThrow(
      /127\.0\.0\.1:\d+\/mcp: the response is not valid HTTP\/1\.1: it switches to another protocol/,
    );
  });

  test('is not awaited even if the custom fetch ignores the signal', async () => {
    const leaving = new AbortController();
    const fetch = (): Promise<never> => {
      setImmediate(() => leaving.abort(new Error('left')));
      return new Promise(() => {});
    };
    const deaf = new GuardedHttp({ server: LOCAL, fetch });
    await expect(deaf.get(new URL('http://127.0.0.1:1/'), {}, leaving.signal)).rejects.toThrow('left');
    await expect(deaf.get(new URL('http://127.0.0.1:1/'), {}, leaving.signal)).rejects.toThrow('left');
  });

  test('that redirects within the origin is followed', async () => {
    const origin = await serve(({ url }, response) => {
      if (url === '/there') return response.end('there');
      response.writeHead(302, { location: '/there' });
      return response.end();
    });
    expect(await (await http.get(new URL(`${origin}/here`), {})).text()).toBe('there');
  });

  test('without a target to redirect to is returned, and so is a 201 with a location', async () => {
    const origin = await serve(({ url }, response) => {
      response.writeHead(url === '/created' ? 201 : 302, url === '/created' ? { location: '/null' } : {});
      response.end('here');
    });
    expect((await http.get(new URL(origin), {})).status).toBe(302);
    expect((await http.get(new URL(`${origin}/created`), {})).status).toBe(201);
  });

  test.each([
    ['http://', 'redirects to another origin'],
    ['http://127.0.0.1:1/', 'redirects to another origin'],
    ['https://HOST/', 'redirects to another origin'],
    ['http://user@HOST/', 'contains credentials'],
  ])('that redirects to %s is refused', async (location, why) => {
    let asked = 0;
    const origin = await serve(({ headers }, response) => {
      asked += 1;
      response.writeHead(302, { location: location.replace('HOST', headers.host!) });
      response.end();
    });
    const error = { code: 'blocked', message: expect.stringContaining(why) };
    await expect(http.get(new URL(origin), {})).rejects.toMatchObject(error);
    expect(asked).toBe(1);
  });

  test('that redirects to another origin is refused, and that origin gets no request', async () => {
    let asked = 0;
    const other = await serve((_, response) => response.end(String((asked += 1))));
    const origin = await serve((_, response) => {
      response.writeHead(307, { location: other });
      response.end();
    });
    await expect(http.get(new URL(origin), {})).rejects.toThrow('redirects to another origin');
    expect(asked).toBe(0);
  });

  test('that redirects more than three times fails', async () => {
    const asked: unknown[] = [];
    const origin = await serve(({ url, headers }, response) => {
      asked.push([url, headers['x-one']]);
      const left = Number(url!.slice(1));
      response.writeHead(left === 0 ? 200 : 301, left === 0 ? {} : { location: `/${left - 1}` });
      response.end();
    });
    expect((await http.get(new URL(`${origin}/3`), { 'x-one': 'a' })).status).toBe(200);
    expect(asked).toEqual(['/3', '/2', '/1', '/0'].map((url) => [url, 'a']));
    asked.length = 0;
    await expect(http.get(new URL(`${origin}/4`), {})).rejects.toMatchObject({
      code: 'unreachable',
      message: `${origin}/4 redirects too many times`,
    });
    expect(asked).toHaveLength(4);
  });

  test('to a POST is never redirected', async () => {
    const origin = await serve((_, response) => {
      response.writeHead(307, { location: '/there' });
      response.end();
    });
    expect(
      (await http.fetch(origin, { method: 'POST', headers: { 'accept-encoding': 'identity' }, body: 'secret' })).status,
    ).toBe(307);
  });
});

test.each([
  ['{"a":1}', { a: 1 }],
  ['[1]', undefined],
  ['null', undefined],
  ['{"a":', undefined],
  ['', undefined],
])('the JSON object in the response %j is %j', async (body, value) => {
  expect(await jsonOf(new Response(body))).toEqual(value);
});
