import type { Server } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listen } from './listen.ts';

const servers: Server[] = [];
vi.mock(import('node:http'), async (original) => {
  const http = await original();
  const createServer = ((...args: Parameters<typeof http.createServer>) => {
    const server = http.createServer(...args);
    servers.push(server);
    return server;
  }) as typeof http.createServer;
  return { ...http, createServer };
});

test('each error of a server that listens is reported', async () => {
  const errors: Error[] = [];
  const listener = await listen({ port: 0, onsession: () => {}, onerror: (error) => errors.push(error) });
  onTestFinished(() => listener.close());
  const all = [new Error('accept EMFILE'), new Error('accept EMFILE again')];
  for (const error of all) servers.at(-1)?.emit('error', error);
  expect(errors).toEqual(all);
});

test('errors end nothing where nobody wants to hear of them', async () => {
  const listener = await listen({ port: 0, onsession: () => {} });
  onTestFinished(() => listener.close());
  for (let n = 0; n < 3; n++) expect(servers.at(-1)?.emit('error', new Error('accept EMFILE'))).toBe(true);
});

test('unless told otherwise it listens on the loopback interface and no other', async () => {
  const listener = await listen({ port: 0, onsession: () => {} });
  onTestFinished(() => listener.close());
  expect(servers.at(-1)?.address()).toMatchObject({ address: '127.0.0.1', port: listener.port });
});
