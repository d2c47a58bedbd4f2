import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ready } from './host.ts';
import { createServer } from './sdk-v1-server.ts';

const transports = new Map<string, StreamableHTTPServerTransport>();

async function open(): Promise<StreamableHTTPServerTransport> {
  const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await createServer().connect(transport);
  return transport;
}

const server = createHttpServer((request, response) => {
  const id = request.headers['mcp-session-id'];
  const known = typeof id === 'string' ? transports.get(id) : undefined;
  if (known) void known.handleRequest(request, response);
  else void open().then((transport) => transport.handleRequest(request, response));
});

server.listen(0, '127.0.0.1', () => ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
