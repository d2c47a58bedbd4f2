import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FileTokenStore } from '../../src/auth/index.ts';
import { Deferred } from '../../src/base/deferred.ts';
import { startEverwire, temporaryFolder } from '../support/command-line.ts';

/** A server that requires a token, with its authorization server. The token endpoint does not answer by itself. */
async function authorizationServer() {
  const asked = new Deferred<(body: object) => void>();
  const server = createServer(({ url = '' }, response) => {
    const json = (body: object, status = 200): ServerResponse =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url === '/token') asked.resolve(json);
    else if (url === '/.well-known/oauth-protected-resource/mcp') {
      json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
    } else if (url === '/.well-known/oauth-authorization-server') {
      json({ issuer: origin, token_endpoint: `${origin}/token`, response_types_supported: ['code'] });
    } else json({}, url === '/mcp' ? 401 : 404);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `${origin}/mcp`, origin, asked: asked.promise };
}

test('a command that ends keeps the tokens of a refresh that it has begun', async () => {
  const { url, origin, asked } = await authorizationServer();
  const data = temporaryFolder();
  const store = new FileTokenStore(path.join(data, 'everwire', 'tokens'));
  const key = { server: url, issuer: origin };
  await store.set(key, {
    client: { clientId: 'app', redirectUris: [] },
    tokens: {
      ...{ accessToken: 'access-0', tokenType: 'Bearer', refreshToken: 'refresh-0', scopes: [] },
      ...{ resource: url, clientId: 'app', expiresAt: 2, refreshAt: 1 },
    },
  });
  const command = startEverwire(['ping', url], { XDG_DATA_HOME: data, LOCALAPPDATA: data });
  const answer = await asked;
  command.child.kill('SIGINT');
  answer({ access_token: 'access-1', token_type: 'Bearer', refresh_token: 'refresh-1', expires_in: 3600 });
  expect(await command.exited).toEqual({ code: 130, signal: null });
  expect((await store.get(key))!.tokens).toMatchObject({ accessToken: 'access-1', refreshToken: 'refresh-1' });
});
