import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from 'everwire/server';
import type { Authenticator } from 'everwire/http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestIssuer } from '../test/support/issuer.ts';

const page = readFileSync(new URL('../docs/authorization.md', import.meta.url), 'utf8');
const shown = [...page.matchAll(/<!-- file: (\S+) -->\n\n```ts\n([\s\S]*?)```/g)];

describe('the page about authorization', () => {
  test('shows the files of the example', () => {
    const files = ['examples/auth.ts', 'examples/oidc-provider.ts', 'examples/auth-verify.ts', 'examples/auth-keys.ts'];
    expect(shown.map(([, file]) => file)).toEqual(files);
  });

  test.each(shown.map(([, file, code]) => [file!, code!]))('shows %s unchanged', (file, code) => {
    expect(code).toBe(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));
  });
});

function environment(values: Record<string, string>): void {
  for (const [name, value] of Object.entries(values)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** Calls tools of a server with a credential. */
async function client(server: McpServer, headers: Record<string, string>): Promise<(name: string) => Promise<string>> {
  const fetch = ((input: string | URL, init?: RequestInit) =>
    server.fetch(new Request(input, init))) as typeof globalThis.fetch;
  const official = new Client({ name: 'reader', version: '1.0.0' });
  const options = { fetch, requestInit: { headers } };
  await official.connect(new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), options));
  onTestFinished(() => official.close());
  return async (name) => {
    const { content } = await official.callTool({ name, arguments: { text: 'Hello!' } });
    return (content as { text: string }[])[0]!.text;
  };
}

/** A server whose tool returns the principal and the scopes of its caller. */
function behind(auth: Authenticator): McpServer {
  const server = new McpServer({ name: 'who', version: '1', http: { auth } });
  server.tool('who', {}, (_, { caller }) => `${caller.principal}: ${caller.auth?.scopes.join(' ')}`);
  onTestFinished(() => server.close());
  return server;
}

test('the example with tokens lets its callers read and write their own notes', async () => {
  const issuer = await TestIssuer.start();
  onTestFinished(() => issuer.close());
  const resource = 'https://notes.example/mcp';
  environment({ RESOURCE: resource, ISSUER: issuer.url });
  const { server } = await import('./auth.ts');
  onTestFinished(() => server.close());
  const caller = async (sub: string, scope: string) =>
    client(server, { authorization: `Bearer ${await issuer.token(resource, { sub, scope })}` });
  const ada = await caller('ada', 'notes:read notes:write');
  expect(await ada('write')).toBe('Written.');
  expect(await ada('read')).toBe('Hello!');
  const bob = await caller('bob', 'notes:read');
  expect(await bob('read')).toBe('Nothing yet.');
  await expect(bob('write')).rejects.toThrow('notes:write');
  await expect(caller('eve', '')).rejects.toThrow('notes:read');
});

test('the example with introspection accepts tokens that are active', async () => {
  const answers: Record<string, object> = {
    good: { active: true, sub: 'ada', aud: 'http://localhost:8000/mcp', scope: 'notes:read' },
    foreign: { active: true, sub: 'ada', aud: 'https://other.example', scope: 'notes:read' },
  };
  const introspection = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const token = new URLSearchParams(body).get('token') ?? '';
      if (token === 'broken') response.statusCode = 500;
      response.end(JSON.stringify(answers[token] ?? { active: false }));
    })();
  });
  introspection.listen(0, '127.0.0.1');
  await once(introspection, 'listening');
  onTestFinished(() => {
    introspection.closeAllConnections();
    introspection.close();
  });
  environment({ INTROSPECTION: `http://127.0.0.1:${(introspection.address() as AddressInfo).port}/` });
  const { auth } = await import('./auth-verify.ts');
  const errors: Error[] = [];
  const server = new McpServer({ name: 'who', version: '1', http: { auth }, onerror: (error) => errors.push(error) });
  server.tool('who', {}, (_, { caller }) => `${caller.principal}: ${caller.auth?.scopes.join(' ')}`);
  onTestFinished(() => server.close());
  const bearer = (token: string) => client(server, { authorization: `Bearer ${token}` });
  expect(await (await bearer('good'))('who')).toBe('ada: notes:read');
  await expect(bearer('foreign')).rejects.toThrow('not valid');
  await expect(bearer('unknown')).rejects.toThrow('not valid');
  await expect(bearer('broken')).rejects.toThrow('cannot be checked now');
  expect(errors.map(({ message }) => message)).toEqual([
    'The credential cannot be checked: Introspection answered 500',
  ]);
});

test('the example with keys recognizes the owner of a key', async () => {
  environment({ ADA_KEY: 'ada-key-0123456789', ROBOT_KEY: 'robot-key-0123456789' });
  const { auth } = await import('./auth-keys.ts');
  const server = behind(auth);
  expect(await (await client(server, { 'x-api-key': 'robot-key-0123456789' }))('who')).toBe('robot: ');
  const ada = await client(server, { authorization: 'Bearer ada-key-0123456789' });
  expect(await ada('who')).toBe('ada: notes:read notes:write');
  await expect(client(server, { 'x-api-key': 'other' })).rejects.toThrow('not valid');
});
