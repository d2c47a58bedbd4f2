import { once } from 'node:events';
import { execFileSync } from 'node:child_process';
import { connect as connectSocket, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { RawClient } from '../interop/raw-client.ts';
import { bridged } from '../interop/servers.ts';
import { readEvents } from '../interop/sse.ts';
import { onLine } from '../support/lines.ts';
import { descendants, eventually, programs, startNode, startServer, type RunningServer } from '../support/process.ts';

type JsonObject = Record<string, any>;
type Event = Record<string, string>;

const POST = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const clientInfo = { name: 'test', version: '1' };
const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
};
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

function call(id: number, name: string, args: JsonObject = {}): JsonObject {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta: { progressToken: id } } };
}

/** A session over Streamable HTTP whose connections can be dropped. */
class Session {
  readonly #url: string;
  readonly headers: Record<string, string> = {};

  constructor(url: string) {
    this.#url = url;
  }

  static async open(url: string): Promise<Session> {
    const session = new Session(url);
    const response = await session.post(initialize);
    await response.text();
    session.headers['mcp-session-id'] = response.headers.get('mcp-session-id')!;
    session.headers['mcp-protocol-version'] = '2025-11-25';
    await session.post(initialized);
    return session;
  }

  post(message: JsonObject, signal?: AbortSignal): Promise<Response> {
    const headers = { ...POST, ...this.headers };
    return fetch(this.#url, { method: 'POST', headers, body: JSON.stringify(message), signal });
  }

  get(lastEventId?: string, signal?: AbortSignal): Promise<Response> {
    const resume: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    return fetch(this.#url, { headers: { accept: 'text/event-stream', ...this.headers, ...resume }, signal });
  }

  async end(): Promise<number> {
    return (await fetch(this.#url, { method: 'DELETE', headers: this.headers })).status;
  }

  /** The result of a call that is answered quickly. */
  async result(id: number, name: string, args?: JsonObject): Promise<JsonObject> {
    const response = await this.post(call(id, name, args));
    if (response.headers.get('content-type') !== 'text/event-stream')
      return ((await response.json()) as JsonObject)['result'];
    for await (const { data } of readEvents(response.body!)) {
      const message = data ? JSON.parse(data) : {};
      if (message.id === id) return message.result;
    }
    throw new Error('The stream ended before the result');
  }
}

/** The number of log messages before the response to the call with id 1. */
function noticesBeforeAnswer(stdout: Readable): Promise<number> {
  let notices = 0;
  return new Promise((resolve) => {
    stdout.resume();
    onLine(stdout, (line) => {
      const { method, id } = JSON.parse(line);
      if (method === 'notifications/message') notices += 1;
      if (id === 1) resolve(notices);
    });
  });
}

/** Reads a stream until `enough`, then drops the connection. */
async function readUntil(
  request: (signal: AbortSignal) => Promise<Response>,
  enough: (events: Event[]) => boolean,
): Promise<Event[]> {
  const controller = new AbortController();
  const events: Event[] = [];
  const response = await request(controller.signal);
  try {
    for await (const event of readEvents(response.body!)) {
      events.push(event);
      if (enough(events)) break;
    }
  } finally {
    controller.abort();
  }
  return events;
}

function messages(events: readonly Event[]): JsonObject[] {
  return events.filter(({ data }) => data).map(({ data }) => JSON.parse(data!));
}

function rss(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}

const MB = 1024 * 1024;

describe.each([
  ['a server', [...programs.features, '--port', '0', '--stall-timeout', '1000']],
  ['a bridge', bridged([...programs.features, '--stdio']).http],
])('%s whose client drops the connection', (name, args) => {
  let server: RunningServer;
  let session: Session;

  beforeAll(async () => {
    server = await startServer(args);
  });

  afterAll(() => server?.stop());

  afterEach(() => session?.end());

  test.each([
    ['before the first message', 1],
    ['in the middle of messages', 8],
  ])('during a call, %s: the rest arrives after reconnecting, once and in order', async (_, count) => {
    session = await Session.open(server.url);
    const before = await readUntil(
      (signal) => session.post(call(1, 'count', { to: 20 }), signal),
      ({ length }) => length === count,
    );
    const after = await readUntil(
      (signal) => session.get(before.at(-1)!['id'], signal),
      (events) => messages(events).some(({ id }) => id === 1),
    );
    const said = messages([...before, ...after]);
    expect(said.slice(0, -1).map(({ params }) => params.progress)).toEqual(
      Array.from({ length: 20 }, (_each, index) => index + 1),
    );
    expect(said.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'counted to 20' }] } });
    // No message comes on the wrong stream, and no id comes twice.
    const ids = [...before, ...after].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('of the session: missed messages arrive after reconnecting', async () => {
    session = await Session.open(server.url);
    await session.post({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'feature://fixed' } });
    const [first] = await readUntil(
      (signal) => session.get(undefined, signal),
      ({ length }) => length === 1,
    );
    for (let id = 2; id < 5; id += 1)
      await session.result(id, 'grow', { name: `missed-${name}-${id}`.replaceAll(' ', '-') });
    await session.result(5, 'touch', { uri: 'feature://fixed' });
    const missed = await readUntil(
      (signal) => session.get(first!['id'], signal),
      (events) => messages(events).some(({ method }) => method === 'notifications/resources/updated'),
    );
    expect(messages(missed).map(({ method }) => method)).toEqual([
      ...Array.from({ length: 3 }, () => 'notifications/tools/list_changed'),
      'notifications/resources/updated',
    ]);
  });

  test('during a call: the call is not cancelled, except by the end of the session', async () => {
    session = await Session.open(server.url);
    const other = await Session.open(server.url);
    // Behind a bridge, each session has its own child. It can only be asked while the session is open.
    const asked = name === 'a bridge' ? session : other;
    const cancelled = async (id: number): Promise<number> =>
      (await asked.result(id, 'cancellations'))['structuredContent'].result;
    const before = await cancelled(1);
    await readUntil(
      (signal) => session.post(call(2, 'wait'), signal),
      (events) => messages(events).length === 1,
    );
    expect(await cancelled(3)).toBe(before);
    expect(await session.end()).toBe(204);
    if (name === 'a bridge') await eventually(() => descendants(server.pid).length === 1, 'the child is gone');
    else await eventually(async () => (await cancelled(4)) === before + 1, 'the call is cancelled');
    expect((await session.post(call(5, 'add', { a: 1, b: 2 }))).status).toBe(404);
    await other.end();
  });

  test('of HTTP+SSE: the session ends', async () => {
    const client = await RawClient.connect('2024-11-05', 'sse', { stdio: [], url: '', sseUrl: server.sseUrl });
    session = await Session.open(server.url);
    const begun = new Promise<void>((resolve) => {
      client.callTool({ name: 'wait' }, { onprogress: () => resolve() }).catch(() => {});
    });
    await begun;
    // Behind a bridge, each session has its own child.
    const sessions = async (id: number): Promise<number> =>
      name === 'a bridge'
        ? descendants(server.pid).length
        : JSON.parse((await session.result(id, 'health'))['content'][0].text).sessions;
    let id = 0;
    // The children of earlier tests may still be ending.
    await eventually(async () => (await sessions(++id)) === 2, 'both sessions are open');
    await client.close();
    await eventually(async () => (await sessions(++id)) === 1, 'the session is over');
  });
});

/** Otherwise, V8 of Node 24 collects garbage so late that it takes as much memory as a missing limit. */
const FEW_NEW_OBJECTS = '--max-semi-space-size=1';

describe('a client that does not read', () => {
  let server: RunningServer | undefined;
  let socket: Socket | undefined;

  afterEach(async () => {
    socket?.destroy();
    await server?.stop();
    server = undefined;
  });

  /** Requests 200 MB and reads nothing. */
  function flood(url: string, headers: Record<string, string>): void {
    const { hostname, port, pathname, search } = new URL(url);
    const body = JSON.stringify(call(1, 'flood', { count: 2000, bytes: 100_000 }));
    const head = Object.entries({
      host: `${hostname}:${port}`,
      ...POST,
      ...headers,
      'content-length': String(body.length),
    });
    socket = connectSocket(Number(port), hostname);
    socket.on('error', () => {});
    socket.pause();
    socket.write(
      `POST ${pathname}${search} HTTP/1.1\r\n${head.map(([key, value]) => `${key}: ${value}`).join('\r\n')}\r\n\r\n${body}`,
    );
  }

  test.each([
    ['a server', [...programs.features, '--port', '0', '--stall-timeout', '1000']],
    ['a bridge', bridged([...programs.features, '--stdio']).http],
  ])('during a call does not fill the memory of %s, and others are served', async (_, args) => {
    server = await startServer([FEW_NEW_OBJECTS, ...args]);
    const [silent, other] = [await Session.open(server.url), await Session.open(server.url)];
    await other.result(1, 'add', { a: 1, b: 2 });
    const before = rss(server.pid);
    flood(server.url, silent.headers);
    let most = before;
    for (let id = 2; id < 60; id += 1) {
      expect((await other.result(id, 'add', { a: id, b: 1 }))['structuredContent']).toEqual({ result: id + 1 });
      most = Math.max(most, rss(server.pid));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // Of 200 MB. Most of this is garbage that is not collected yet.
    expect((most - before) / MB).toBeLessThan(160);
    // The session is still open.
    expect((await silent.result(2, 'add', { a: 1, b: 2 }))['structuredContent']).toEqual({ result: 3 });
  });

  test('over HTTP+SSE loses its session, and others are served', async () => {
    server = await startServer([...programs.features, '--port', '0', '--stall-timeout', '1000']);
    const other = await Session.open(server.url);
    const health = async (id: number): Promise<JsonObject> =>
      JSON.parse((await other.result(id, 'health'))['content'][0].text);
    const { hostname, port } = new URL(server.sseUrl);
    socket = connectSocket(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(`GET /sse HTTP/1.1\r\nhost: ${hostname}:${port}\r\naccept: text/event-stream\r\n\r\n`);
    const endpoint = await new Promise<string>((resolve) => {
      let text = '';
      const read = (chunk: Buffer): void => {
        text += chunk.toString();
        const path = /data: (\/messages\S+)\n/.exec(text)?.[1];
        if (path === undefined) return;
        socket!.off('data', read);
        socket!.pause();
        resolve(path);
      };
      socket!.on('data', read);
    });
    const post = (message: JsonObject): Promise<Response> =>
      fetch(new URL(endpoint, server!.sseUrl), { method: 'POST', headers: POST, body: JSON.stringify(message) });
    const before = (await health(1))['rss'];
    for (const message of [initialize, initialized, call(1, 'flood', { count: 2000, bytes: 100_000 })]) {
      expect((await post(message)).status).toBe(202);
    }
    let id = 1;
    let most = 0;
    await eventually(async () => {
      const now = await health(++id);
      most = Math.max(most, now['rss']);
      return now['sessions'] === 1;
    }, 'the session is over');
    expect((most - before) / MB).toBeLessThan(120);
    expect((await post(call(2, 'add'))).status).toBe(404);
  });

  test.each([
    ['a server', [...programs.features, '--stdio'], 1000],
    // A bridge cannot slow its child down, so it drops messages above its limits: one MiB of them is on its way, and ten wait.
    ['a bridge', bridged([...programs.features, '--stdio']).stdio, 110],
  ])('over stdio does not fill the memory of %s, which continues when the client reads', async (_, args, least) => {
    const child = startNode([FEW_NEW_OBJECTS, ...args]);
    const { stdin, stdout } = child.child;
    // `startNode` would read the lines.
    stdout!.removeAllListeners('data');
    stdin!.write(`${JSON.stringify(initialize)}\n`);
    // When the process responds, it has allocated the memory that it always needs.
    await once(stdout!, 'data');
    stdout!.pause();
    const before = rss(child.pid);
    const much = call(1, 'flood', { count: 1000, bytes: 100_000 });
    stdin!.write([initialized, much].map((message) => `${JSON.stringify(message)}\n`).join(''));
    let most = 0;
    for (let look = 0; look < 40; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      most = Math.max(most, rss(child.pid));
    }
    expect((most - before) / MB).toBeLessThan(150);
    const notices = await noticesBeforeAnswer(stdout!);
    expect(notices).toBeGreaterThanOrEqual(least);
    stdin!.end();
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  test('over stdio gets everything through a bridge when it reads again', async () => {
    const child = startNode(bridged([...programs.features, '--stdio']).stdio);
    const { stdin, stdout } = child.child;
    const answered = noticesBeforeAnswer(stdout!);
    const much = call(1, 'flood', { count: 1000, bytes: 10_000 });
    stdin!.write([initialize, initialized, much].map((message) => `${JSON.stringify(message)}\n`).join(''));
    expect(await answered).toBe(1000);
    stdin!.end();
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });
});
