import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { FileTokenStore } from '../../src/auth/index.ts';
import { startEverwire, temporaryFolder } from '../support/command-line.ts';

const OLD = 'the-old-access-token';
const NEW = 'the-new-access-token';

/** What commands need to have a login at the server. */
let env: Record<string, string>;
let url: string;

/** A server with a stored login. It refuses the old token, and repeats both in all errors. */
beforeEach(async () => {
  const server = createServer((request, response) => {
    const json = (body: object, status = 200): ServerResponse =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const answer = (body: string): void => {
      if (request.headers.authorization !== `Bearer ${NEW}`) return void json({}, 401);
      const id = /"id":("\w+"|\d+)/.exec(body)?.[1];
      if (id === undefined) return void response.writeHead(202).end();
      const message = { jsonrpc: '2.0', id: JSON.parse(id) as unknown };
      const serverInfo = { name: 'notes', version: '1.0.0' };
      if (body.includes('"initialize"'))
        json({ ...message, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
      else json({ ...message, error: { code: -32_000, message: `not for ${NEW}, which replaces ${OLD}` } });
    };
    if (request.url === '/mcp' && request.method === 'POST') void text(request).then(answer);
    else if (request.url === '/token') json({ access_token: NEW, token_type: 'Bearer', expires_in: 3600 });
    else if (request.url === '/.well-known/oauth-protected-resource/mcp')
      json({ resource: url, authorization_servers: [origin] });
    else if (request.url === '/.well-known/oauth-authorization-server')
      json({ issuer: origin, token_endpoint: `${origin}/token`, response_types_supported: ['code'] });
    else json({}, 404);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  url = `${origin}/mcp`;
  const data = temporaryFolder();
  env = { XDG_DATA_HOME: data, LOCALAPPDATA: data };
  await new FileTokenStore(path.join(data, 'everwire', 'tokens')).set(
    { server: url, issuer: origin },
    {
      client: { clientId: 'app', redirectUris: [] },
      tokens: {
        ...{ accessToken: OLD, tokenType: 'Bearer', refreshToken: 'refresh', scopes: [] },
        ...{ resource: url, clientId: 'app', expiresAt: Date.now() + 3600_000, refreshAt: Date.now() + 3000_000 },
      },
    },
  );
});

test.each([
  ['the error of a call', (target: string) => ['call', target, 'search']],
  ['the report of a check', (target: string) => ['check', target]],
])('a token that the server repeats is not in %s', async (_what, args) => {
  const command = startEverwire(args(url), env);
  await command.exited;
  const shown = [...command.stdout, ...command.stderr].join(' ').replace(/\s+/g, ' ');
  expect(shown).toContain('not for [redacted], which replaces [redacted]');
  expect(shown).not.toMatch(/the-(?:old|new)-access-token/);
});
