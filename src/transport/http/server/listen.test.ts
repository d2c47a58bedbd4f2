import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage, type Server } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { POST_HEADERS } from '../../../../test/support/http.ts';
import { modernHeaders, modernRequest } from '../../../../test/support/modern.ts';
import { deferred, scripted } from '../../../../test/support/service.ts';
import { createInbound } from '../../../wire/serve.ts';
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

test('every error of the listening server is reported', async () => {
  const errors: Error[] = [];
  const listener = await listen({ port: 0, onsession: () => {}, onerror: (error) => errors.push(error) });
  onTestFinished(() => listener.close());
  const all = [new Error('accept EMFILE'), new Error('accept EMFILE again')];
  for (const error of all) servers.at(-1)?.emit('error', error);
  expect(errors).toEqual(all);
});

test('an error without an onerror callback does not end the process', async () => {
  const listener = await listen({ port: 0, onsession: () => {} });
  onTestFinished(() => listener.close());
  for (let n = 0; n < 3; n++) expect(servers.at(-1)?.emit('error', new Error('accept EMFILE'))).toBe(true);
});

describe('pipelined requests', () => {
  /** A server that answers when the test says so, and a way to send it many requests at once. */
  async function serving() {
    const started: number[] = [];
    const go = deferred();
    const { service } = scripted({
      work: async ({ params }) => {
        started.push(params['n']);
        await go.promise;
        return { n: params['n'] };
      },
    });
    const inbound = createInbound(service);
    const listener = await listen({ port: 0, onrequest: inbound.onrequest });
    onTestFinished(() => listener.close(0));
    const socket = connect(listener.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
    const send = (from: number, to: number): void => {
      let all = '';
      for (let n = from; n < to; n += 1) {
        const message = modernRequest(n, 'work', { n });
        const headers = { ...POST_HEADERS, ...modernHeaders(message), host: 'localhost' };
        const body = JSON.stringify(message);
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        all += `POST /mcp HTTP/1.1\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n${body}`;
      }
      socket.write(all);
    };
    const statuses = (): string[] => Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status!);
    return { socket, started, send, go: () => go.resolve(), statuses };
  }

  test('wait up to a limit of 100: the next one is refused, later ones do not run, and the connection closes', async () => {
    const { socket, started, send, go, statuses } = await serving();
    send(0, 300);
    await vi.waitFor(() => expect(started).toHaveLength(1));
    send(300, 400);
    const ended = once(socket, 'close');
    go();
    await ended;
    expect(statuses()).toEqual([...Array.from({ length: 100 }, () => '200'), '503']);
    expect(started).toEqual(Array.from({ length: 100 }, (_, n) => n));
  });

  test('are not read beyond the one that is refused, however many the client sends', async () => {
    const { socket, go } = await serving();
    let requests = 0;
    const count = (): void => void (requests += 1);
    subscribe('http.server.request.start', count);
    onTestFinished(() => void unsubscribe('http.server.request.start', count));
    const ended = once(socket, 'close');
    go();
    socket.on('error', () => {}).write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(100_000));
    await ended;
    // What Node had read before it stopped. It read all 100,000 before, each of which took 1.7 kB until the end.
    expect(requests).toBeGreaterThan(100);
    expect(requests).toBeLessThan(10_000);
  });

  test('make room when their responses are read', async () => {
    const { started, send, go, statuses } = await serving();
    go();
    for (let sent = 0; sent < 250; sent += 50) {
      send(sent, sent + 50);
      await vi.waitFor(() => expect(statuses()).toHaveLength(sent + 50));
    }
    expect(new Set(statuses())).toEqual(new Set(['200']));
    expect(started).toHaveLength(250);
  });
});

test('by default, a listener accepts connections on loopback only', async () => {
  const listener = await listen({ port: 0, onsession: () => {} });
  onTestFinished(() => listener.close());
  expect(servers.at(-1)?.address()).toMatchObject({ address: '127.0.0.1', port: listener.port });
});

test('while a listener drains, each response closes its connection, those of running requests too', async () => {
  const go = deferred();
  const started = deferred();
  const { service } = scripted({ work: () => (started.resolve(), go.promise.then(() => ({}))) });
  const listener = await listen({ port: 0, grace: 60_000, onrequest: createInbound(service).onrequest });
  onTestFinished(() => listener.close(0));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const connectionOf = async (id: number): Promise<unknown> => {
    const message = modernRequest(id, 'work', {});
    const headers = { ...POST_HEADERS, ...modernHeaders(message) };
    const sent = request(listener.url, { method: 'POST', agent, headers }).end(JSON.stringify(message));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    return [response.statusCode, response.headers.connection];
  };
  const running = connectionOf(1);
  await started.promise;
  listener.handler.drain();
  expect(await connectionOf(2)).toEqual([503, 'close']);
  go.resolve();
  expect(await running).toEqual([200, 'close']);
});
