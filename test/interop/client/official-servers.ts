import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport as StdioV1 } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport as StdioV2 } from '@modelcontextprotocol/server/stdio';
import { streamTransport } from '../../../src/transport/stdio/stream.ts';
import type { Transport } from '../../../src/transport/transport.ts';
import { officialV1 } from './official-v1.ts';
import { officialV2, type Shared } from './official-v2.ts';
import type { Column } from './server-matrix.ts';

type Started = ReturnType<Column['start']>;

const shared = (): Shared => ({ grown: new Set(), cancelled: 0 });

/** The ends of a stdio connection: our transport, and the streams of an official server. */
function streams(): { target: Transport; input: PassThrough; output: PassThrough } {
  const [input, output] = [new PassThrough(), new PassThrough()];
  return { target: streamTransport(output, input, { role: 'client' }), input, output };
}

/** Listens on a free port. */
export async function listening(
  listener: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  release: () => Promise<unknown> = async () => {},
): Started {
  const server = createServer((request, response) => {
    listener(request, response).catch((error: Error) => response.destroy(error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async (): Promise<void> => {
    await release();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { target: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, stop };
}

export async function v1Stdio(): Started {
  const { target, input, output } = streams();
  const server = officialV1();
  await server.connect(new StdioV1(input, output));
  return { target, stop: () => server.close() };
}

/** A transport for each session. */
export function sessions<
  T extends { handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> },
>(open: (onopened: (id: string, transport: T) => void) => Promise<T>): Started {
  const transports = new Map<string, T>();
  return listening(async (request, response) => {
    const known = transports.get(String(request.headers['mcp-session-id']));
    const transport = known ?? (await open((id, opened) => void transports.set(id, opened)));
    await transport.handleRequest(request, response);
  });
}

export function v1Http(): Started {
  return sessions<StreamableHTTPServerTransport>(async (onopened) => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => onopened(id, transport),
    });
    await officialV1().connect(transport);
    return transport;
  });
}

export function v1Sse(): Started {
  const opened = new Map<string, SSEServerTransport>();
  return listening(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    if (pathname === '/messages')
      return opened.get(searchParams.get('sessionId')!)!.handlePostMessage(request, response);
    if (request.method !== 'GET') return void response.writeHead(405).end();
    const transport = new SSEServerTransport('/messages', response);
    opened.set(transport.sessionId, transport);
    await officialV1().connect(transport);
  });
}

export async function v2Stdio(legacy: 'serve' | 'reject'): Started {
  const { target, input, output } = streams();
  const world = shared();
  const handle = serveStdio(() => officialV2(world), { legacy, transport: new StdioV2(input, output) });
  return { target, stop: () => handle.close() };
}

export async function v2StdioSession(): Started {
  const { target, input, output } = streams();
  const server = officialV2(shared());
  await server.connect(new StdioV2(input, output));
  return { target, stop: () => server.close() };
}

export function v2Http(legacy: 'stateless' | 'reject'): Started {
  const world = shared();
  const handler = createMcpHandler(() => officialV2(world), { legacy });
  world.notify = handler.notify;
  const listener = toNodeHandler(handler);
  return listening(
    async (request, response) => listener(request, response),
    () => handler.close(),
  );
}

export function v2HttpSession(): Started {
  return sessions<NodeStreamableHTTPServerTransport>(async (onopened) => {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => onopened(id, transport),
    });
    await officialV2(shared()).connect(transport);
    return transport;
  });
}
