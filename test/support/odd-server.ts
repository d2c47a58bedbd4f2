import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { connect, type Client, type ClientOptions } from 'everwire/client';
import { streamTransport } from 'everwire/stdio';
import { scripted, type Asked } from './http-server.ts';

/** A way to reach a server, in one of the eras. */
export type Way = 'modern HTTP' | 'session HTTP' | 'HTTP+SSE' | 'modern pipes' | 'handshake pipes';

export const WAYS: readonly Way[] = ['modern HTTP', 'session HTTP', 'HTTP+SSE', 'modern pipes', 'handshake pipes'];
/** The ways in which each request has its own HTTP response. */
export const POSTS: readonly Way[] = ['modern HTTP', 'session HTTP'];

/** One call of a tool, which the test answers in any way. */
export interface Turn {
  readonly id: number;
  /** The number of calls of this tool so far, including this one. */
  readonly count: number;
  /** Writes to the stream of responses: a message, or any text in place of one. */
  say(message: object | string): void;
  /** Ends that stream, with or without an error. */
  end(badly?: boolean): void;
  /** The HTTP response of the request, if the way has one. */
  readonly response: ServerResponse;
}

export interface OddWorld {
  readonly client: Client;
  /** The errors that no caller got. */
  readonly errors: Error[];
  /** The number of calls of each tool. */
  readonly calls: Map<string, number>;
}

type Answer = (turn: Turn) => void;

const good: Answer = ({ id, say }) =>
  say({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'good' }] } });

/**
 * A client and a server whose tools answer as the test says. Any other tool and all other requests are answered
 * correctly. Reading any resource counts as calling the tool `read`.
 */
export async function oddServer(
  way: Way,
  tools: Record<string, Answer>,
  options: ClientOptions = {},
): Promise<OddWorld> {
  const calls = new Map<string, number>();
  const errors: Error[] = [];
  const called = (body: any, turn: Omit<Turn, 'id' | 'count'>): void => {
    const name: string = body.params.name ?? 'read';
    const count = (calls.get(name) ?? 0) + 1;
    calls.set(name, count);
    const { id } = body;
    if (tools[name]) tools[name]({ ...turn, id, count });
    else good({ ...turn, id, count });
  };
  const eras = way.startsWith('modern') ? 'modern' : 'legacy';
  const target = way.endsWith('pipes') ? pipes(called) : await address(way, called);
  const client = await connect(target, {
    eras,
    cache: false,
    timeout: 2000,
    onerror: (error) => void errors.push(error),
    // So that HTTP+SSE is not tried elsewhere.
    ...(way === 'HTTP+SSE' && { eraCache: { get: () => ({ era: 'legacy', route: 'http+sse' }), set: () => {} } }),
    ...options,
  });
  onTestFinished(() => client.close());
  return { client, errors, calls };
}

type Called = (body: any, turn: Omit<Turn, 'id' | 'count'>) => void;

const isCall = ({ method }: any): boolean => method === 'tools/call' || method === 'resources/read';

/** A correct response to anything except a call. */
function plain({ id, method }: any): object {
  const capabilities = { tools: {}, resources: {} };
  switch (method) {
    case 'server/discover':
      return { jsonrpc: '2.0', id, result: { supportedVersions: ['2026-07-28'], capabilities } };
    case 'initialize':
      return {
        jsonrpc: '2.0',
        id,
        result: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'odd', version: '1' } },
      };
    case 'tools/list':
      return { jsonrpc: '2.0', id, result: { tools: [] } };
    default:
      return { jsonrpc: '2.0', id, result: {} };
  }
}

const event = (message: object | string): string =>
  `data: ${typeof message === 'string' ? message : JSON.stringify(message)}\n\n`;

async function address(way: Way, called: Called): Promise<URL> {
  /** The streams of HTTP+SSE, by the path to which their clients post. */
  const streams = new Map<string, ServerResponse>();
  const sse = ({ method, path, body }: Asked, response: ServerResponse): void => {
    if (method === 'GET') {
      const post = `/post/${streams.size}`;
      streams.set(post, response);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`event: endpoint\ndata: ${post}\n\n`);
      return;
    }
    const stream = streams.get(path);
    if (!stream || stream.destroyed || stream.writableEnded) return void response.writeHead(404).end();
    response.writeHead(202).end();
    const end = (badly?: boolean): unknown => (badly ? stream.destroy() : stream.end());
    if (isCall(body)) called(body, { say: (message) => void stream.write(event(message)), end, response: stream });
    else if (body.id !== undefined) stream.write(event(plain(body)));
  };
  const posts = ({ method, body }: Asked, response: ServerResponse): void => {
    if (method !== 'POST') return void response.writeHead(405).end();
    if (body.id === undefined) return void response.writeHead(202).end();
    if (!isCall(body)) {
      const session = way === 'session HTTP' && { 'mcp-session-id': 'odd' };
      response.writeHead(200, { 'content-type': 'application/json', ...session }).end(JSON.stringify(plain(body)));
      return undefined;
    }
    const say = (message: object | string): void => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event(message));
    };
    return called(body, { say, end: (badly) => (badly ? response.destroy() : response.end()), response });
  };
  const { url } = await scripted(way === 'HTTP+SSE' ? sse : posts);
  return url;
}

function pipes(called: Called): () => ReturnType<typeof streamTransport> {
  return () => {
    const [up, down] = [new PassThrough(), new PassThrough()];
    let rest = '';
    const say = (message: object | string): void => {
      if (!down.writableEnded) down.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
    };
    up.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        const body = JSON.parse(line);
        const response = undefined as never;
        if (isCall(body)) called(body, { say, end: () => down.end(), response });
        else if (body.id !== undefined) say(plain(body));
      }
    });
    return streamTransport(down, up, { role: 'client', maxMessageBytes: 100_000 });
  };
}
