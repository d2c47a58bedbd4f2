import { expect, test } from 'vitest';
import { closedPort, json, rawServer, scripted } from '../../../../test/support/http-server.ts';
import { fetchHttp } from './fetch-http.ts';
import { pooledHttp } from './pooled-http.ts';

const failure = async (url: URL, send = pooledHttp()): Promise<string> => {
  const request = { method: 'POST', url, headers: { 'content-type': 'application/json' }, body: '{}' } as const;
  return send(request).then(
    () => 'no error',
    (error: unknown) => (error as Error).message,
  );
};

test.each([
  ['pooledHttp', pooledHttp()],
  ['fetch', fetchHttp(fetch)],
])('%s says what to do if nothing listens', async (_, send) => {
  expect(await failure(await closedPort(), send)).toMatch(
    /cannot be reached: connect ECONNREFUSED \S+ \(nothing listens there: check that the server runs, and the port\)$/,
  );
});

test.each([
  ['pooledHttp', pooledHttp()],
  ['fetch', fetchHttp(fetch)],
])('%s says what to do if a port does not speak TLS', async (_, send) => {
  const { url } = await scripted((_asked, response) => json(response, {}));
  expect(await failure(new URL(url.href.replace('http:', 'https:')), send)).toMatch(
    /: its port does not speak TLS: use http:\/\/ instead of https:\/\/$/,
  );
});

test('a server that closes the connection unasked may expect TLS', async () => {
  const url = await rawServer((socket) => void socket.on('data', () => socket.end()));
  expect(await failure(url)).toMatch(/the server closed the connection \(it crashed, or its port expects https\)$/);
});
