import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { McpServer } from '../server/mcp-server.ts';
import { connect } from './connect.ts';
import type { ClientOptions } from './options.ts';

function counter() {
  const calls = vi.fn<() => void>();
  const make = (): McpServer => {
    const server = new McpServer({ name: 'counter', version: '1.0.0' });
    server.tool('count', {}, () => {
      calls();
      return 'counted';
    });
    return server;
  };
  return { calls, make };
}

/** A URL at which servers start and stop. */
async function address() {
  let current: McpServer | undefined;
  let listener: Server | undefined;
  const close = async (): Promise<void> => {
    listener?.closeAllConnections();
    await new Promise((resolve) => (listener ? listener.close(resolve) : resolve(undefined)));
    listener = undefined;
  };
  const open = new Set<Socket>();
  const listen = async (port = 0): Promise<number> => {
    listener = createServer((request, response) => current!.node(request, response));
    listener.on('connection', (socket) => void open.add(socket.once('close', () => open.delete(socket))));
    await new Promise<void>((resolve) => listener!.listen(port, '127.0.0.1', resolve));
    return (listener.address() as AddressInfo).port;
  };
  const port = await listen();
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    serve: (server: McpServer) => void (current = server),
    close,
    reopen: () => listen(port),
    /** The number of open connections of clients. */
    open,
  };
}

async function clientOf(url: string, options: ClientOptions = {}) {
  const errors: Error[] = [];
  const client = await connect(url, { onerror: (error) => errors.push(error), ...options });
  onTestFinished(() => client.close());
  return { client, errors };
}

test.each(['legacy', 'modern'] as const)('a %s client continues after its server restarts', async (eras) => {
  const { calls, make } = counter();
  const { url, serve } = await address();
  serve(make());
  const { client } = await clientOf(url, { eras });
  expect(await client.callTool('count')).toMatchObject({ content: [{ text: 'counted' }] });
  serve(make());
  expect(await client.callTool('count')).toMatchObject({ content: [{ text: 'counted' }] });
  expect(calls).toHaveBeenCalledTimes(2);
  expect(client.closed).toBe(false);
});

test.each(['legacy', 'modern'] as const)(
  'the error for a server that is down has its URL, and a client finds the server again (%s)',
  async (eras) => {
    const { make } = counter();
    const { url, serve, close, reopen } = await address();
    serve(make());
    const { client } = await clientOf(url, { eras });
    await close();
    await expect(client.callTool('count')).rejects.toMatchObject({ name: 'ConnectionError' });
    await reopen();
    expect(await client.callTool('count')).toMatchObject({ content: [{ text: 'counted' }] });
  },
);

describe('the error for a server that cannot be reached', () => {
  test.each(['ftp://example.com/', 'nonsense'])('at %s is a TypeError', async (target) => {
    await expect(connect(target)).rejects.toThrow(TypeError);
  });

  test('says that the connection was refused', async () => {
    const { url, close } = await address();
    await close();
    await expect(connect(url)).rejects.toMatchObject({
      name: 'ConnectionError',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test.each([401, 403, 500])('has the status %i', async (status) => {
    const listener = createServer((_, response) => void response.writeHead(status).end());
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void listener.close());
    const { port } = listener.address() as AddressInfo;
    await expect(connect(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      name: 'ConnectionError',
      message: expect.stringContaining(String(status)),
    });
  });

  test('says that there is no response', async () => {
    const listener = createServer(() => {});
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      listener.closeAllConnections();
      listener.close();
    });
    const { port } = listener.address() as AddressInfo;
    const connecting = connect(`http://127.0.0.1:${port}/`, { connectTimeout: 200 });
    await expect(connecting).rejects.toMatchObject({ name: 'TimeoutError', limit: 200 });
  });
});

test('a custom fetch sends all requests, with the given headers', async () => {
  const { make } = counter();
  const server = make();
  const seen: (string | null)[] = [];
  const fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    seen.push(request.headers.get('x-api-key'));
    return server.fetch(request);
  };
  const { client } = await clientOf('http://localhost/mcp', { fetch, headers: { 'X-Api-Key': 'k' } });
  expect(await client.callTool('count')).toMatchObject({ content: [{ text: 'counted' }] });
  expect(new Set(seen)).toEqual(new Set(['k']));
});

test.each(['legacy', 'modern'] as const)('a closed %s client leaves no connection behind', async (eras) => {
  const { make } = counter();
  const { url, serve, open } = await address();
  serve(make());
  const { client } = await clientOf(url, { eras });
  await Promise.all([client.callTool('count'), client.callTool('count')]);
  expect(open.size).toBeGreaterThan(1);
  await client.close();
  // Less than the time for which an idle connection is kept open.
  await vi.waitFor(() => expect(open.size).toBe(0), 2000);
});
