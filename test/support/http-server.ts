import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createNetServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** One complete request. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: any;
}

export interface ScriptedServer {
  readonly url: URL;
  readonly asked: Asked[];
  /** The number of connections that were opened. */
  readonly connections: () => number;
}

/** A server over HTTP that runs the given function. It is closed after the test. */
export async function scripted(
  answer: (asked: Asked, response: ServerResponse, count: number) => void,
): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const one: Asked = {
        method: request.method!,
        path: request.url!,
        headers: request.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
      answer(one, response, asked.push(one));
    });
  });
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), asked, connections: () => connections };
}

/** A server that runs the given function on each connection. It is closed after the test. */
export async function rawServer(onconnection: (socket: Socket, count: number) => void): Promise<URL> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createNetServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    onconnection(socket, ++count);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
}

/** A URL at which nothing listens. */
export async function closedPort(): Promise<URL> {
  const server = createNetServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return new URL(`http://127.0.0.1:${port}/mcp`);
}

export function json(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

/** The head of an event stream, and its first events. */
export function events(response: ServerResponse, ...text: string[]): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  for (const each of text) response.write(each);
  return response;
}

export function event(message: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;
}
