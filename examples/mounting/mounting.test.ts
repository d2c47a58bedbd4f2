import { readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from 'everwire/server';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestIssuer } from '../../test/support/issuer.ts';
import { root, startNode, type RunningProcess } from '../../test/support/process.ts';
import { eras, reader, textOf } from '../../test/support/reader.ts';
import { filesShownIn } from '../../test/support/shown.ts';
import { server as nextServer } from './next-server.ts';
import { register } from './next-instrumentation.ts';
import * as next from './next.ts';
import { fetch as officialFetch, http as official } from './official.ts';
import worker from './worker.ts';

describe('the page about mounting', () => {
  const files = filesShownIn('docs/guides/mounting.md');

  test('shows every file here, once', () => {
    const here = readdirSync(new URL('.', import.meta.url)).filter((name) => !name.endsWith('.test.ts'));
    const sorted = (names: string[]) => names.toSorted((a, b) => a.localeCompare(b));
    expect(sorted(files.map(({ file }) => file))).toEqual(sorted(here.map((name) => `examples/mounting/${name}`)));
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});

test('the page quotes the error about a body that was read', async () => {
  const page = readFileSync(`${root}docs/guides/mounting.md`, 'utf8');
  const quoted = /```text\n(Something[\s\S]*?)\n```/.exec(page)![1]!.replaceAll('\n', ' ');
  const errors: Error[] = [];
  const server = new McpServer({ name: 'library', version: '1.0.0', onerror: (error) => errors.push(error) });
  onTestFinished(() => server.close(0));
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const request = new Request('http://localhost/mcp', { method: 'POST', headers, body: '{}' });
  await request.text();
  expect(await (await server.fetch(request)).json()).toMatchObject({ error: { message: quoted } });
  expect(errors.map(({ message }) => message)).toEqual([quoted]);
});

const hours = async (client: Client) => textOf(await client.callTool({ name: 'opening_hours' }));
type Handler = (request: Request) => Promise<Response>;

/** Starts an example, and resolves with its origin. */
async function start(name: string, env: NodeJS.ProcessEnv = {}): Promise<RunningProcess & { origin: string }> {
  const running = startNode([`${root}dist/examples/mounting/${name}.js`], { PORT: '0', ...env });
  onTestFinished(async () => void (await running.stop()));
  const [, port] = await running.line(/port: (\d+)/);
  return { ...running, origin: `http://127.0.0.1:${port}` };
}

describe.each(eras)('with %s', (era) => {
  test.each(['node', 'express', 'fastify', 'hono'])('%s answers, and stops with a stream open', async (name) => {
    const { origin, child, exited } = await start(name);
    const client = await reader(undefined, { era, url: `${origin}/mcp` });
    expect(await hours(client)).toContain('9 to 17');
    // A stream that ends only with the server.
    if (era === '2026-07-28') await client.listen({ toolsListChanged: true });
    child.kill('SIGTERM');
    expect(await exited).toEqual({ code: 0, signal: null });
  });

  test.each<[string, Handler]>([
    ['Workers', worker.fetch],
    ['Next', (request) => (next as Record<string, unknown> as Record<string, Handler>)[request.method]!(request)],
  ])('%s answer', async (_, fetch) => {
    expect(await hours(await reader(fetch, { era }))).toContain('9 to 17');
  });
});

test("the handler of Next's instrumentation closes the server of its routes", async () => {
  vi.stubEnv('NEXT_RUNTIME', 'nodejs');
  onTestFinished(() => void vi.unstubAllEnvs());
  const listeners = process.listeners('SIGTERM');
  await register();
  const added = process.listeners('SIGTERM').find((listener) => !listeners.includes(listener));
  const closed = vi.spyOn(nextServer, 'close').mockResolvedValue();
  process.off('SIGTERM', added!);
  added!('SIGTERM');
  expect(closed).toHaveBeenCalledWith(10_000);
});

describe('under a prefix, with authorization', () => {
  let issuer: TestIssuer;
  beforeAll(async () => {
    issuer = await TestIssuer.start();
  });
  afterAll(() => issuer.close());

  const PUBLIC = 'https://mcp.example';

  /** Calls a tool with the official client, which has to find the authorization server and get a token from it. */
  async function calling(era: (typeof eras)[number], path: string, tool: string, fetch: Handler): Promise<unknown> {
    issuer.grant = () => issuer.token(PUBLIC + path, { scope: 'library:read' });
    const requested: string[] = [];
    const mode = era === '2026-07-28' ? ({ pin: era } as const) : 'legacy';
    const client = new Client({ name: 'reader', version: '1.0.0' }, { versionNegotiation: { mode } });
    onTestFinished(() => client.close());
    const authProvider = new ClientCredentialsProvider({
      clientId: 'app',
      clientSecret: 'secret',
      expectedIssuer: issuer.url,
    });
    const transport = new StreamableHTTPClientTransport(new URL(PUBLIC + path), {
      authProvider,
      fetch: (url, init) => {
        requested.push(String(url));
        return new URL(url).origin === PUBLIC ? fetch(new Request(url, init)) : globalThis.fetch(url, init);
      },
    });
    await client.connect(transport);
    expect(requested).toContain(`${PUBLIC}/.well-known/oauth-protected-resource${path}`);
    return textOf(await client.callTool({ name: tool }));
  }

  /** Passes on requests for the public origin, as a reverse proxy does. */
  const proxy =
    (origin: string): Handler =>
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const body = request.method === 'POST' ? await request.text() : null;
      const { method, headers, signal } = request;
      return fetch(origin + pathname + search, { method, headers, body, signal });
    };

  const environment = () => ({ RESOURCE: `${PUBLIC}/api/mcp`, ORIGIN: PUBLIC, ISSUER: issuer.url });

  test.each(['protected-express', 'protected-fastify', 'protected-hono'])('%s', async (name) => {
    const { origin } = await start(name, environment());
    for (const era of eras)
      expect(await calling(era, '/api/mcp', 'card', proxy(origin))).toBe(`The card of ${issuer.url}#alice`);
    expect((await fetch(`${origin}/.well-known/oauth-protected-resource`)).status).toBe(200);
    expect((await fetch(`${origin}/mcp`)).status).toBe(404);
  });

  test('protected-worker, and the metadata route of Next', async () => {
    for (const [name, value] of Object.entries(environment())) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { default: guarded } = await import('./protected-worker.ts');
    const { GET } = await import('./next-metadata.ts');
    const routes: Handler = (request) =>
      new URL(request.url).pathname.startsWith('/.well-known/') ? GET(request) : guarded.fetch(request);
    for (const fetch of [guarded.fetch, routes])
      for (const era of eras)
        expect(await calling(era, '/api/mcp', 'card', fetch)).toBe(`The card of ${issuer.url}#alice`);
    expect((await guarded.fetch(new Request(`${PUBLIC}/mcp`))).status).toBe(404);
  });

  test('several servers, each with tokens of its own', async () => {
    const { origin } = await start('several', environment());
    for (const name of ['library', 'archive']) {
      expect(await calling('2026-07-28', `/${name}/mcp`, 'where', proxy(origin))).toBe(`In the ${name}`);
    }
    const headers = { authorization: `Bearer ${await issuer.token(`${PUBLIC}/library/mcp`)}` };
    expect((await fetch(`${origin}/archive/mcp`, { headers })).status).toBe(401);
    expect((await fetch(`${origin}/library/mcp`, { headers })).status).not.toBe(401);
  });
});

test('HTTP+SSE under a prefix', async () => {
  const { origin } = await start('sse');
  const client = new ClientV1({ name: 'reader', version: '1.0.0' });
  await client.connect(new SSEClientTransport(new URL(`${origin}/api/sse`)));
  onTestFinished(() => client.close());
  expect(textOf(await client.callTool({ name: 'opening_hours' }))).toContain('9 to 17');
  for (const era of eras) expect(await hours(await reader(undefined, { era, url: `${origin}/api/mcp` }))).toBeTruthy();
});

describe("the example with the official SDK's server", () => {
  async function hello(url: URL, fetch?: typeof globalThis.fetch): Promise<unknown> {
    const client = new ClientV1({ name: 'reader', version: '1.0.0' });
    await client.connect(new TransportV1(url, fetch ? { fetch } : {}));
    onTestFinished(() => client.close());
    return textOf(await client.callTool({ name: 'hello' }));
  }

  test('answers as a fetch function', async () => {
    const fetch = ((input: string | URL, init?: RequestInit) =>
      officialFetch(new Request(input, init))) as typeof globalThis.fetch;
    expect(await hello(new URL('http://localhost/mcp'), fetch)).toBe('Hello!');
  });

  test('answers in a node:http server', async () => {
    await new Promise<void>((resolve) => official.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      official.closeAllConnections();
      official.close();
    });
    const { port } = official.address() as AddressInfo;
    expect(await hello(new URL(`http://127.0.0.1:${port}/mcp`))).toBe('Hello!');
  });
});
