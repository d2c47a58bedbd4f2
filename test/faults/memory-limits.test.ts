import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../src/base/wait.ts';
import { initialize, POST_HEADERS } from '../support/http.ts';
import { modernHeaders, modernRequest } from '../support/modern.ts';
import { startServer, type RunningServer } from '../support/process.ts';

const MB = 1024 * 1024;
const ARGS = ['--max-old-space-size=512', 'test/fixtures/large-answers.mjs'];

let server: RunningServer;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

/** A folder that is removed after the test. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'everwire-memory-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A connection that reads nothing. */
async function silent(): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  return socket.pause();
}

function request(method: string, path: string, headers: Record<string, string>, body = ''): string {
  const all = {
    host: 'localhost',
    ...(method === 'POST' ? { 'content-length': String(body.length) } : {}),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** As `fetch`. An error says whether the server has ended, or has only closed the connection. */
async function ask(url: string | URL, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    const exit = await waitFor(server.exited, { timeout: 1000 }).catch(() => 'it runs');
    throw new Error(`The server: ${JSON.stringify(exit)}, ${server.stderr.slice(-20).join('\n')}`, { cause });
  }
}

async function memory(page = '/memory'): Promise<number> {
  return Number(await (await ask(new URL(page, server.url))).text());
}

/** Makes twenty calls with another client. Returns the largest growth of the server's memory in the meantime. */
async function served(before: number): Promise<number> {
  let most = 0;
  for (let n = 0; n < 20; n += 1) {
    const message = modernRequest(n, 'tools/call', { name: 'large', arguments: {} });
    const init = { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) };
    const response = await ask(server.url, init);
    expect([response.status, (await response.text()).length]).toEqual([200, expect.closeTo(MB, -3)]);
    most = Math.max(most, await memory());
  }
  return (most - before) / MB;
}

const call = (id: number, name: string): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {} },
});

async function session(): Promise<Record<string, string>> {
  const response = await ask(server.url, {
    method: 'POST',
    headers: POST_HEADERS,
    body: JSON.stringify(initialize()),
  });
  await response.text();
  const headers = { ...POST_HEADERS, 'mcp-session-id': response.headers.get('mcp-session-id')! };
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await ask(server.url, { method: 'POST', headers, body });
  return headers;
}

test('memory stays limited with twelve connections that pipeline 99 calls of a megabyte and read nothing', async () => {
  server = await startServer(ARGS);
  const before = await memory();
  const message = modernRequest(1, 'tools/call', { name: 'large', arguments: {} });
  const one = request('POST', '/mcp', modernHeaders(message), JSON.stringify(message));
  for (let n = 0; n < 12; n += 1) (await silent()).write(one.repeat(99));
  expect(await served(before)).toBeLessThan(400);
});

test('memory stays limited with 150 unread responses of four megabytes in one turn of the event loop', async () => {
  server = await startServer(ARGS);
  const before = await memory();
  for (let n = 1; n <= 150; n += 1) {
    const message = modernRequest(n, 'tools/call', { name: 'together', arguments: { calls: 150 } });
    (await silent()).write(request('POST', '/mcp', modernHeaders(message), JSON.stringify(message)));
  }
  await served(before);
  expect((await memory('/peak')) - before).toBeLessThan(600 * MB);
});

test('memory stays limited with sixty HTTP+SSE sessions of fourteen responses of a megabyte that nobody reads', async () => {
  server = await startServer(ARGS);
  const before = await memory();
  for (let n = 0; n < 60; n += 1) {
    const stream = await silent();
    stream.write(request('GET', '/sse', { accept: 'text/event-stream' }));
    let text = '';
    while (!text.includes('sessionId=')) {
      await once(stream, 'readable');
      text += String(stream.read());
    }
    const path = /data: (\S+)/.exec(text)![1]!;
    const post = (body: object): Promise<Response> =>
      ask(new URL(path, server.url), { method: 'POST', headers: POST_HEADERS, body: JSON.stringify(body) });
    await post(initialize('2024-11-05'));
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await Promise.all(Array.from({ length: 14 }, (_, id) => post(call(id + 1, 'large'))));
  }
  expect(await served(before)).toBeLessThan(800);
});

test.each([
  ['', false],
  [', and are kept in a directory', true],
])(
  'memory stays limited with sixty sessions whose calls write twenty megabytes at once to streams that nobody reads%s',
  async (_, kept) => {
    server = await startServer(kept ? [...ARGS, newFolder()] : ARGS);
    const before = await memory();
    const calls: (() => void)[] = [];
    for (let n = 0; n < 60; n += 1) {
      const headers = await session();
      (await silent()).write(request('GET', '/mcp', { ...headers, accept: 'text/event-stream' }));
      for (let id = 1; id <= 4; id += 1) {
        const socket = await silent();
        calls.push(() => socket.write(request('POST', '/mcp', headers, JSON.stringify(call(id, 'told')))));
      }
    }
    for (const begin of calls) begin();
    expect(await served(before)).toBeLessThan(800);
  },
);

test('memory stays limited with three hundred unfinished bodies', async () => {
  server = await startServer(ARGS);
  const before = await memory();
  const body = 'x'.repeat(4 * MB);
  const head = request('POST', '/mcp', { ...POST_HEADERS, 'content-length': String(body.length) });
  const written: Promise<unknown>[] = [];
  for (let n = 0; n < 300; n += 1) {
    const socket = await silent();
    socket.resume();
    written.push(new Promise((resolve) => socket.write(head + body.slice(1), resolve)));
  }
  await Promise.all(written);
  expect(await served(before)).toBeLessThan(800);
  expect(server.child.exitCode).toBeNull();
});
