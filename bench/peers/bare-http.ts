import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answer } from './bare-answer.ts';
import { ready } from './host.ts';

/** The limit for a server over HTTP: `node:http` and the JSON work. A GET holds an event stream open. */

const streams = new Set<ServerResponse>();

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    streams.add(response);
    response.on('close', () => streams.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.flushHeaders();
    return;
  }
  if (request.method === 'DELETE') {
    response.writeHead(200).end();
    return;
  }
  collect(request, (body) => reply(response, body));
});

function collect(request: IncomingMessage, done: (body: string) => void): void {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text: string) => (body += text));
  request.on('end', () => done(body));
}

function reply(response: ServerResponse, body: string): void {
  const message = JSON.parse(body);
  const result = answer(message);
  if (result === undefined) {
    response.writeHead(202).end();
    return;
  }
  const text = JSON.stringify(result);
  const headers: Record<string, string | number> = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  if (message.method === 'initialize') headers['mcp-session-id'] = randomUUID();
  response.writeHead(200, headers).end(text);
}

server.listen(0, '127.0.0.1', () => ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
