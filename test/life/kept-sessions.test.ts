import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@redis/client';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type OfficialClient } from '../interop/clients.ts';
import { programs } from '../support/process.ts';
import { frontOf } from './front.ts';
import { describeWithRedis, type Shared } from './with-redis.ts';
import { at } from './world.ts';

/** Bridges with one Redis, whose server is at a URL and keeps its state in sessions. */

const PATIENT = { timeout: 30_000 };
let shared: Shared;

/** An official server with a session for each client. Each counts its calls. */
async function official() {
  const open = new Map<string, StreamableHTTPServerTransport>();
  const requests: { method: string; session: string | undefined; body: string }[] = [];
  const opened = async (): Promise<StreamableHTTPServerTransport> => {
    const server = new McpServer({ name: 'counting', version: '1' }, { capabilities: { logging: {} } });
    let calls = 0;
    server.registerTool('count', {}, () => {
      calls += 1;
      if (calls === 100) server.sendToolListChanged();
      return { content: [{ type: 'text', text: String(calls) }] };
    });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void open.set(id, transport),
      onsessionclosed: (id) => void open.delete(id),
    });
    await server.connect(transport);
    return transport;
  };
  const http = createServer((request, response) => {
    void (async () => {
      const body = await textOf(request);
      const session = request.headers['mcp-session-id'] as string | undefined;
      requests.push({ method: request.method!, session, body });
      const transport = session === undefined ? await opened() : open.get(session);
      if (!transport) return response.writeHead(404).end();
      return transport.handleRequest(request, response, body === '' ? undefined : JSON.parse(body));
    })();
  });
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, open, requests };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** Two bridges to the server, and a client whose requests all reach the first one until that is gone. */
async function start() {
  const server = await official();
  const bridges = await shared.serve(2, [...programs.everwire, 'bridge', '--port', '0', server.url]);
  const front = await frontOf(bridges, () => 0);
  const client = await connectOfficial('sdk 1.x', 'http', at(front));
  onTestFinished(() => client.close().catch(() => {}));
  const count = async (): Promise<string> => countOf(client);
  expect([await count(), await count()]).toEqual(['1', '2']);
  const session = server.requests.findLast(({ body }) => body.includes('"count"'))!.session!;
  return { server, bridges, front, client, count, session };
}

const countOf = async (client: OfficialClient): Promise<string> =>
  ((await client.callTool({ name: 'count' })) as any).content[0].text;

describeWithRedis('a server at a URL behind two bridges', (given) => {
  shared = given;

  test('has the same session after the process with its connection was killed, and its id is no text in Redis', async () => {
    const { server, bridges, client, count, session } = await start();
    const admin = createClient({ url: shared.redis.url });
    await admin.connect();
    const keys = await admin.keys('*kept*');
    const texts = await Promise.all(keys.map((key) => admin.get(key)));
    await admin.close();
    expect(texts.filter((text) => text !== null)).toHaveLength(1);
    expect(texts.join(' ')).not.toContain(session);
    const from = client.notices.length;
    bridges[0]!.child.kill('SIGKILL');
    await bridges[0]!.exited;
    expect([await count(), await count()]).toEqual(['3', '4']);
    expect([...server.open.keys()]).toContain(session);
    const initialized = server.requests.filter(({ body }) => body.includes('"initialize"')).length;
    // What the server sends outside of calls is heard again, too.
    for (let n = 5; n <= 100; n += 1) expect(await count()).toBe(String(n));
    await client.notice('notifications/tools/list_changed', () => true, from, 30_000);
    expect(server.requests.filter(({ body }) => body.includes('"initialize"'))).toHaveLength(initialized);
    const ids = server.requests
      .filter(({ body, session: of }) => of === session && body.includes('"id"'))
      .map(({ body }) => JSON.parse(body).id as unknown);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('has the same session after that process has ended orderly', async () => {
    const { server, bridges, count, session } = await start();
    await bridges[0]!.stop();
    expect([await count(), await count()]).toEqual(['3', '4']);
    expect(server.requests.filter(({ method, session: of }) => method === 'DELETE' && of === session)).toEqual([]);
  });

  test('has a new session if it does not know the former one, and the client hears that all may have changed', async () => {
    const { server, bridges, client, count, session } = await start();
    const from = client.notices.length;
    server.open.delete(session);
    bridges[0]!.child.kill('SIGKILL');
    await bridges[0]!.exited;
    expect([await count(), await count()]).toEqual(['1', '2']);
    await client.notice('notifications/tools/list_changed', () => true, from, 30_000);
  });

  test('loses its session when the client ends its own, at whichever process', async () => {
    const { server, bridges, front, count, session } = await start();
    bridges[0]!.child.kill('SIGKILL');
    await bridges[0]!.exited;
    expect(await count()).toBe('3');
    const own = front.passed.find(({ headers }) => headers['mcp-session-id'])!.headers['mcp-session-id'] as string;
    await fetch(front.url, { method: 'DELETE', headers: { 'mcp-session-id': own } });
    await expect.poll(() => server.open.has(session), PATIENT).toBe(false);
  });
});
