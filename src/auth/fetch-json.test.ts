import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { closedPort } from '../../test/support/http-server.ts';
import { fetchJson } from './fetch-json.ts';

async function serving(answer: RequestListener): Promise<URL> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/keys?secret=1`);
}

test('a document is read', async () => {
  const url = await serving((request, response) => response.end(JSON.stringify({ accept: request.headers.accept })));
  expect(await fetchJson(fetch, url)).toEqual({ accept: 'application/json' });
});

test('a document of 1 MiB is read, with any characters', async () => {
  const text = `{"a":"${'ä'.repeat(1024 * 512 - 4)}"}`;
  const url = await serving((_, response) => response.end(text));
  expect(Buffer.byteLength(text)).toBe(1024 * 1024);
  expect(await fetchJson(fetch, url)).toEqual(JSON.parse(text));
});

test.each<[string, RequestListener, RegExp]>([
  ['an error status', (_, response) => response.writeHead(500).end('{}'), /^status 500$/],
  ['a redirect', (_, response) => response.writeHead(302, { location: '/other' }).end('{}'), /^status 302$/],
  ['a response that is not JSON', (_, response) => response.end('<html>'), /JSON/],
  ['JSON that is not an object', (_, response) => response.end('[]'), /^not a JSON object$/],
  ['a broken response', (_, response) => response.writeHead(200, { 'content-length': 9 }).destroy(), /./],
])('%s is refused with an error that has the URL without its query', async (_what, answer, why) => {
  const url = await serving(answer);
  const error: unknown = await fetchJson(fetch, url).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ cause: { message: expect.stringMatching(why) } });
  const { message, cause } = error as Error & { cause: Error };
  // `fetch` itself says only that it failed.
  const reason = cause.message === 'fetch failed' ? 'UND_ERR_SOCKET' : cause.message;
  expect(message).toBe(`${url.origin}/keys: ${reason}`);
});

test('the error for an unreachable server has the code of its cause', async () => {
  const url = await closedPort();
  await expect(fetchJson(fetch, url)).rejects.toThrow(`${url.href}: ECONNREFUSED`);
});

test.each([
  [500, 'status 500'],
  [200, 'Unexpected end of JSON input'],
])('a response without a body is refused: %i', async (status, why) => {
  const empty = () => Promise.resolve(new Response(null, { status }));
  await expect(fetchJson(empty, new URL('https://issuer.example/keys'))).rejects.toThrow(`keys: ${why}`);
});

test('reading stops if a document is too large', async () => {
  let stopped!: () => void;
  const over = new Promise<void>((resolve) => (stopped = resolve));
  const url = await serving((_, response) => {
    let left = 64;
    const more = (): void => {
      while (!response.destroyed && left > 0 && response.write(`"${'x'.repeat(64 * 1024)}",`)) left -= 1;
      if (left === 0) response.end();
    };
    response.on('drain', more);
    response.on('close', stopped);
    response.write('[');
    more();
  });
  await expect(fetchJson(fetch, url)).rejects.toThrow(/keys: the response is larger than 1048576 bytes$/);
  await over;
});

test.each<[string, (count: number) => string]>([
  ['objects', (count) => `{"keys":[${Array(count).fill('{}').join()}]}`],
  ['members', (count) => `{${Array.from({ length: count }, (_, at) => `"k${at}":0`).join()}}`],
])('a document with very many %s is refused', async (_what, document) => {
  const fetched = (count: number) =>
    fetchJson(() => Promise.resolve(new Response(document(count))), new URL('https://issuer.example/keys'));
  expect(await fetched(24_990)).toEqual(JSON.parse(document(24_990)));
  await expect(fetched(25_000)).rejects.toThrow(/keys: the response has more than 50000 keys and values$/);
});

test('a response has five seconds to arrive', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  onTestFinished(() => timeout.mockRestore());
  const signals: AbortSignal[] = [];
  const never: typeof fetch = (_url, init) => {
    signals.push(init!.signal!);
    return Promise.reject(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  };
  await expect(fetchJson(never, new URL('https://issuer.example/keys'))).rejects.toThrow(/keys: .*timeout/);
  expect(timeout).toHaveBeenCalledExactlyOnceWith(5000);
  expect(signals).toEqual([timeout.mock.results[0]!.value]);
});
