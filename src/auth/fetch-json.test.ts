import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
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

test.each<[string, RequestListener, string]>([
  ['a status', (_, response) => response.writeHead(500).end('{}'), 'status 500'],
  ['a redirect', (_, response) => response.writeHead(302, { location: '/other' }).end('{}'), 'status 302'],
  ['no JSON', (_, response) => response.end('<html>'), 'JSON'],
  ['no object', (_, response) => response.end('[]'), 'not a JSON object'],
  ['a broken answer', (_, response) => response.writeHead(200, { 'content-length': 9 }).destroy(), ''],
])('%s is none, and the error names the place without its query', async (_what, answer, said) => {
  const url = await serving(answer);
  const error = await fetchJson(fetch, url).catch((thrown: unknown) => thrown as Error);
  expect(error).toBeInstanceOf(Error);
  expect((error as Error).message).toContain(`${url.origin}/keys: `);
  expect((error as Error).message).toContain(said);
  expect((error as Error).message).not.toContain('secret');
});

test('a document without end is not read to its end', async () => {
  let stopped!: () => void;
  const over = new Promise<void>((resolve) => (stopped = resolve));
  const url = await serving((_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(`"${'x'.repeat(64 * 1024)}",`));
    };
    response.on('drain', more);
    response.on('close', stopped);
    response.write('[');
    more();
  });
  await expect(fetchJson(fetch, url)).rejects.toThrow('more than 1048576 bytes');
  await over;
});

test('an answer that does not come is not waited for', async () => {
  const signals: AbortSignal[] = [];
  const never: typeof fetch = (_url, init) => {
    signals.push(init!.signal!);
    return Promise.reject(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  };
  await expect(fetchJson(never, new URL('https://issuer.example/keys'))).rejects.toThrow(/keys: .*timeout/);
  expect(signals).toHaveLength(1);
});
