import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { createClient } from '@redis/client';
import { StreamableHTTPServerTransport, type EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { repeatPerSecond } from './per-second.ts';
import { createServer } from './sdk-v1-server.ts';

/**
 * One of several processes with the official SDK. It stores events in Redis. Its sessions are in its memory, because the SDK
 * has no other place for them.
 */

const { values } = parseArgs({ options: { store: { type: 'string' } } });
const transports = new Map<string, StreamableHTTPServerTransport>();

async function redisEvents(url: string): Promise<EventStore> {
  const client = await createClient({ url }).connect();
  /** Seconds that a stream is kept after its newest event. */
  const kept = '600';
  return {
    storeEvent: async (stream, message) => {
      const key = `sdk:${stream}`;
      const added = client.sendCommand<string>(['XADD', key, '*', 'message', JSON.stringify(message)]);
      const [id] = await Promise.all([added, client.sendCommand(['EXPIRE', key, kept])]);
      return `${stream}/${id}`;
    },
    replayEventsAfter: async (last, { send }) => {
      const [stream = '', id = ''] = last.split('/');
      const found = await client.sendCommand<[string, string[]][]>(['XRANGE', `sdk:${stream}`, `(${id}`, '+']);
      for (const [next, [, message]] of found) await send(`${stream}/${next}`, JSON.parse(message!));
      return stream;
    },
  };
}

const eventStore = values.store === undefined ? undefined : await redisEvents(values.store);

async function open(): Promise<StreamableHTTPServerTransport> {
  const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void transports.set(id, transport),
    ...(eventStore && { eventStore }),
  });
  const server = createServer();
  server.registerTool('tick', {}, async ({ sendNotification }) => {
    await repeatPerSecond(10, 10, (data) => {
      void sendNotification({ method: 'notifications/message', params: { level: 'error', data } });
    });
    return { content: [{ type: 'text', text: 'end' }] };
  });
  server.server.registerCapabilities({ logging: {} });
  await server.connect(transport);
  return transport;
}

const server = createHttpServer((request, response) => {
  const id = request.headers['mcp-session-id'];
  const known = typeof id === 'string' ? transports.get(id) : undefined;
  // As in the examples of the SDK, a session that this process does not know gets status 404.
  if (known) void known.handleRequest(request, response);
  else if (id === undefined) void open().then((transport) => transport.handleRequest(request, response));
  else response.writeHead(404).end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}');
});

server.listen(0, '127.0.0.1', () => {
  console.error(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
});
