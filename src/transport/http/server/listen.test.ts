import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, type Server, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { POST_HEADERS } from '../../../../test/support/http.ts';
import { modernHeaders, modernRequest } from '../../../../test/support/modern.ts';
import { deferred, scripted } from '../../../../test/support/service.ts';
import { createInbound } from '../../../wire/serve.ts';
import type { Bus } from '../../../store/bus.ts';
import { memoryBus } from '../../../store/memory-bus.ts';
import { memoryState } from '../../../store/state.ts';
import { listen } from './listen.ts';

const servers: Server[] = [];
vi.mock(import('node:net'), async (original) => {
  const net = await original();
  const createServer = ((...args: Parameters<typeof net.createServer>) => {
    const server = net.createServer(...args);
    servers.push(server);
    return server;
  }) as typeof net.createServer;
  return { ...net, createServer };
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

test.each(['Node1', 'node-1', 'n.1', ''])(
  'a node that ids of streams and questions cannot contain is refused: "%s"',
  async (node) => {
    const state = { ...memoryState(), node, isAlive: () => Promise.resolve(true) };
    await expect(listen({ port: 0, onsession: () => {}, state })).rejects.toThrow(
      `The node of a state must have only the letters a to z and digits: "${node}"`,
    );
  },
);

test('a server that cannot listen takes nothing from the bus', async () => {
  const first = await listen({ port: 0, onsession: () => {} });
  onTestFinished(() => first.close());
  const bus = memoryBus()('a');
  const listening: string[] = [];
  const watched: Bus = {
    ...bus,
    on: (kind, listener) => {
      const remove = bus.on(kind, listener);
      listening.push(kind);
      return () => {
        listening.splice(listening.indexOf(kind), 1);
        remove();
      };
    },
  };
  const state = { ...memoryState(), node: 'a', isAlive: () => Promise.resolve(true), bus: watched };
  await expect(listen({ port: first.port, onsession: () => {}, state })).rejects.toThrow('already in use');
  expect(listening).toEqual([]);
  const tls = { cert: 'none', key: 'none' };
  await expect(listen({ port: 0, onsession: () => {}, state, tls })).rejects.toThrow('cannot be used');
  expect(listening).toEqual([]);
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

  test('run one after the other, however many there are', async () => {
    const { started, send, go, statuses } = await serving();
    send(0, 300);
    await vi.waitFor(() => expect(started).toHaveLength(1));
    send(300, 400);
    go();
    await vi.waitFor(() => expect(statuses()).toHaveLength(400));
    expect(new Set(statuses())).toEqual(new Set(['200']));
    expect(started).toEqual(Array.from({ length: 400 }, (_, n) => n));
  });

  test('are not read while a request is being answered, beyond a small part', async () => {
    const { socket, started, send, go } = await serving();
    let accepted: Socket | undefined;
    servers.at(-1)!.once('connection', (connection: Socket) => (accepted = connection));
    send(0, 1);
    await vi.waitFor(() => expect(started).toHaveLength(1));
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(100_000));
    await vi.waitFor(() => expect(accepted!.isPaused()).toBe(true));
    expect(accepted!.bytesRead).toBeLessThan(256 * 1024);
    socket.on('error', () => {}).destroy();
    go();
  });

  test('do not run if the client has left', async () => {
    const { socket, started, send } = await serving();
    send(0, 10);
    await vi.waitFor(() => expect(started).toHaveLength(1));
    socket.destroy();
    const other = await serving();
    other.go();
    other.send(0, 1);
    await vi.waitFor(() => expect(other.statuses()).toEqual(['200']));
    expect(started).toHaveLength(1);
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
