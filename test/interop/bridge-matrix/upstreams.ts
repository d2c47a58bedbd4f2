import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Target } from '../../../src/client/target.ts';
import { listening, sessions } from '../client/official-servers.ts';
import type { Kind } from './kinds.ts';
import { officialV1 } from './official-v1.ts';
import { officialV2 } from './official-v2.ts';
import { relayed } from './relay.ts';
import { World } from './world.ts';

/** A server that speaks one revision over one transport. */
export interface Upstream {
  readonly world: World;
  readonly target: Target;
  readonly stop: () => Promise<unknown>;
}

type Started = Omit<Upstream, 'world'>;

/** Starts an official server that speaks only this revision: SDK 1.x for 2025-11-25 over HTTP, otherwise 2.x. */
export async function startUpstream({ revision, transport }: Kind): Promise<Upstream> {
  const world = new World(revision);
  const modern = revision >= '2026-07-28';
  const start = { sse: overSse, http: modern ? overModernHttp : overHttp, stdio: overStdio }[transport];
  return { world, ...(await start(world)) };
}

/** SDK 2.x no longer has this transport. Its servers accept the one of 1.x. */
function overSse(world: World): Promise<Started> {
  const opened = new Map<string, SSEServerTransport>();
  return listening(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    const known = opened.get(searchParams.get('sessionId') ?? '');
    if (pathname === '/messages' && known) return known.handlePostMessage(request, response);
    if (request.method !== 'GET') return void response.writeHead(405).end();
    const transport = new SSEServerTransport('/messages', response);
    opened.set(transport.sessionId, transport);
    await officialV2(world).connect(transport);
  });
}

function overHttp(world: World): Promise<Started> {
  const opened = (): string => randomUUID();
  return sessions<{ handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> }>(
    async (onopened) => {
      const onsessioninitialized = (id: string): void => onopened(id, transport);
      const options = { sessionIdGenerator: opened, onsessioninitialized };
      const old = world.revision === '2025-11-25';
      const transport = old
        ? new StreamableHTTPServerTransport(options)
        : new NodeStreamableHTTPServerTransport(options);
      if (transport instanceof StreamableHTTPServerTransport) await officialV1(world).connect(transport);
      else await officialV2(world).connect(transport);
      return transport;
    },
  );
}

function overModernHttp(world: World): Promise<Started> {
  const handler = createMcpHandler(() => officialV2(world, handler.notify), { legacy: 'reject' });
  const listener = toNodeHandler(handler);
  return listening(
    async (request, response) => listener(request, response),
    () => handler.close(),
  );
}

/** Starts one program for each connection. */
async function overStdio(world: World): Promise<Started> {
  const { args, stop } = await relayed((end) => {
    const transport = new StdioServerTransport(end, end);
    if (world.revision >= '2026-07-28') serveStdio(() => officialV2(world), { legacy: 'reject', transport });
    else void officialV2(world).connect(transport);
  });
  return { target: { command: process.execPath, args }, stop };
}
