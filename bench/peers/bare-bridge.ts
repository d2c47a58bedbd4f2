import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ready } from './host.ts';

/** The limit for a bridge: `node:http`, one child, a map of ids, and the JSON work in between. */

interface Waiting {
  readonly id: string | number;
  readonly response: ServerResponse;
  readonly sessionId: string | undefined;
}

const [command, ...args] = process.argv.slice(2);
const child = spawn(command!, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map<number, Waiting>();
let lastId = 0;

let rest = '';
child.stdout.setEncoding('utf8');
child.stdout.on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop()!;
  for (const line of lines) deliver(JSON.parse(line));
});

function deliver(message: any): void {
  const entry = waiting.get(message.id)!;
  waiting.delete(message.id);
  message.id = entry.id;
  const text = JSON.stringify(message);
  const headers: Record<string, string | number> = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  if (entry.sessionId !== undefined) headers['mcp-session-id'] = entry.sessionId;
  entry.response.writeHead(200, headers).end(text);
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text: string) => (body += text));
  request.on('end', () => {
    const message = JSON.parse(body);
    if (message.id === undefined) response.writeHead(202).end();
    else {
      const sessionId = message.method === 'initialize' ? randomUUID() : undefined;
      waiting.set(++lastId, { id: message.id, response, sessionId });
      message.id = lastId;
    }
    child.stdin.write(`${JSON.stringify(message)}\n`);
  });
});

server.listen(0, '127.0.0.1', () => ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
