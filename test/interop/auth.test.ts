import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  UnauthorizedError as UnauthorizedV1,
  type OAuthClientProvider as ProviderV1,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
  UnauthorizedError as UnauthorizedV2,
} from '@modelcontextprotocol/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { apiKeyAuth, bearerAuth } from '../../src/auth/index.ts';
import { McpServer } from '../../src/server/index.ts';
import type { Authenticator } from '../../src/transport/http/server/access/authenticator.ts';
import { TestIssuer } from '../support/issuer.ts';

const INFO = { name: 'interop', version: '1.0.0' };

let issuer: TestIssuer;
let http: Server;
let base: string;
let server: McpServer | undefined;
/** The requested paths. */
let asked: string[];

beforeEach(async () => {
  issuer = await TestIssuer.start();
  asked = [];
  http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await server?.close();
  http.closeAllConnections();
  await new Promise((resolve) => void http.close(resolve));
  await issuer.close();
});

/** Serves two tools to authenticated callers. One tool needs an additional scope. */
function serve(auth: Authenticator): void {
  const mcp = new McpServer({ ...INFO, http: { auth, path: '/mcp', ssePath: '/sse' } });
  mcp.tool('whoami', {}, (_, { caller }) => caller.principal ?? 'nobody');
  mcp.tool('write', { scopes: ['files:write'] }, () => 'written');
  server = mcp;
  http.on('request', (request, response) => {
    asked.push(request.url ?? '');
    mcp.node(request, response);
  });
}

const serveBearer = (resource: string): void =>
  serve(bearerAuth({ resource: base + resource, issuer: issuer.url, scopes: ['mcp'] }));

/** A user whose browser opens the authorization server, but does not log in. */
class Person {
  readonly redirectUrl = 'http://localhost/callback';
  readonly clientMetadata = { redirect_uris: [this.redirectUrl], client_name: 'interop' };
  readonly visited: URL[] = [];
  #tokens: any;
  #discovered: any;
  #verifier = '';

  clientInformation(): { client_id: string; issuer: string } {
    return { client_id: 'app', issuer: issuer.url };
  }

  tokens(): any {
    return this.#tokens;
  }

  saveTokens(tokens: unknown): void {
    this.#tokens = tokens;
  }

  saveDiscoveryState(state: unknown): void {
    this.#discovered = state;
  }

  discoveryState(): any {
    return this.#discovered;
  }

  redirectToAuthorization(url: URL): void {
    this.visited.push(url);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}

interface Connection {
  readonly client: { callTool(params: { name: string }): Promise<any>; close(): Promise<void> };
  readonly connect: () => Promise<void>;
  readonly finishAuth: (code: string) => Promise<void>;
}

interface Peer {
  readonly name: string;
  /** The path of the resource. HTTP+SSE clients accept only a parent of the stream's path. */
  readonly resource: '/mcp' | '';
  readonly unauthorized: abstract new (...args: never[]) => Error;
  readonly make: (options: { provider?: Person; headers?: Record<string, string> }) => Connection;
}

type MakeV1 = new (url: URL, options: { authProvider?: ProviderV1; requestInit: RequestInit }) => HttpV1 | SseV1;
type MakeV2 = new (url: URL, options: { authProvider?: Person; requestInit: RequestInit }) => HttpV2 | SseV2;

const resourceOf = (path: string): Peer['resource'] => (path === '/mcp' ? path : '');

const v1 = (path: string, Transport: MakeV1): Peer => ({
  name: `sdk 1.x at ${path}`,
  resource: resourceOf(path),
  unauthorized: UnauthorizedV1,
  make: ({ provider, headers = {} }) => {
    const client = new ClientV1(INFO);
    const transport = new Transport(new URL(base + path), { authProvider: provider, requestInit: { headers } });
    return { client, connect: () => client.connect(transport), finishAuth: (code) => transport.finishAuth(code) };
  },
});

const v2 = (mode: 'auto' | 'legacy', path: string, Transport: MakeV2): Peer => ({
  name: `client 2.x ${mode} at ${path}`,
  resource: resourceOf(path),
  unauthorized: UnauthorizedV2,
  make: ({ provider, headers = {} }) => {
    const client = new ClientV2(INFO, { versionNegotiation: { mode } });
    const transport = new Transport(new URL(base + path), { authProvider: provider, requestInit: { headers } });
    return { client, connect: () => client.connect(transport), finishAuth: (code) => transport.finishAuth(code) };
  },
});

const peers = [
  v1('/mcp', HttpV1),
  v1('/sse', SseV1),
  v2('legacy', '/mcp', HttpV2),
  v2('auto', '/mcp', HttpV2),
  v2('legacy', '/sse', SseV2),
];
const text = (result: any): string => result.content[0].text;

describe.each(peers)('$name', ({ make, unauthorized, resource }) => {
  test('is accepted with a token', async () => {
    serveBearer(resource);
    const token = await issuer.token(base + resource, { scope: 'mcp files:write' });
    const { client, connect } = make({ headers: { authorization: `Bearer ${token}` } });
    await connect();
    expect(text(await client.callTool({ name: 'whoami' }))).toBe(`${issuer.url}#alice`);
    expect(text(await client.callTool({ name: 'write' }))).toBe('written');
    await client.close();
  });

  test('is accepted with an API key', async () => {
    serve(apiKeyAuth({ keys: { 'key-0123456789': 'ada' } }));
    const { client, connect } = make({ headers: { 'x-api-key': 'key-0123456789' } });
    await connect();
    expect(text(await client.callTool({ name: 'whoami' }))).toBe('ada');
    await client.close();
  });

  test('reads the metadata, sends its user to the issuer and returns with a token', async () => {
    serveBearer(resource);
    const provider = new Person();
    const first = make({ provider });
    await expect(first.connect()).rejects.toBeInstanceOf(unauthorized);
    expect(asked).toContain(`/.well-known/oauth-protected-resource${resource}`);
    const [door] = provider.visited;
    expect(door?.origin).toBe(issuer.origin);
    expect(door?.searchParams.get('resource')).toBe(base + resource);
    expect(door?.searchParams.get('scope')).toBe('mcp');

    issuer.grant = () => issuer.token(base + resource, { scope: 'mcp' });
    await first.finishAuth('code');
    await first.client.close();
    const { client, connect } = make({ provider });
    await connect();
    expect(text(await client.callTool({ name: 'whoami' }))).toBe(`${issuer.url}#alice`);
    await client.close();
  });
});

describe.each(peers.filter(({ resource }) => resource === '/mcp'))('$name', ({ make, unauthorized, resource }) => {
  test('asks its user for more scopes if a tool needs them', async () => {
    serveBearer(resource);
    const provider = new Person();
    const token = await issuer.token(base + resource, { scope: 'mcp' });
    provider.saveTokens({ access_token: token, token_type: 'Bearer', issuer: issuer.url });
    const { client, connect, finishAuth } = make({ provider });
    await connect();
    await expect(client.callTool({ name: 'write' })).rejects.toBeInstanceOf(unauthorized);
    expect(provider.visited[0]?.searchParams.get('scope')?.split(' ').toSorted()).toEqual(['files:write', 'mcp']);
    issuer.grant = () => issuer.token(base + resource, { scope: 'mcp files:write' });
    await finishAuth('code');
    expect(text(await client.callTool({ name: 'write' }))).toBe('written');
    await client.close();
  });
});
