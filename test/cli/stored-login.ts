import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { FileTokenStore, type StoredTokens } from '../../src/auth/index.ts';
import { temporaryFolder } from '../support/command-line.ts';

/** Sends an object as JSON. */
type Send = (body: object, status?: number) => ServerResponse;

/** What differs between the servers. */
interface Routes {
  readonly mcp: (request: IncomingMessage, response: ServerResponse, send: Send) => void;
  readonly token: (send: Send) => void;
}

/** Starts a server with a login, which is also its authorization server. It ends with the test. Returns its origin. */
export async function startServerWithLogin({ mcp, token }: Routes): Promise<string> {
  const server = createServer((request, response) => {
    const send: Send = (body, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/mcp') mcp(request, response, send);
    else if (request.url === '/token') token(send);
    else if (request.url === '/.well-known/oauth-protected-resource/mcp')
      send({ resource: `${origin}/mcp`, authorization_servers: [origin] });
    else if (request.url === '/.well-known/oauth-authorization-server')
      send({ issuer: origin, token_endpoint: `${origin}/token`, response_types_supported: ['code'] });
    else send({}, 404);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return origin;
}

/**
 * Stores a login at such a server. Returns where, and the variables that commands need to find it.
 *
 * @param issuer who issued the tokens. Default: the server itself.
 */
export async function storeLogin(
  origin: string,
  tokens: Pick<StoredTokens, 'accessToken' | 'refreshToken' | 'expiresAt' | 'refreshAt'>,
  issuer = origin,
) {
  const data = temporaryFolder();
  const store = new FileTokenStore(path.join(data, 'everwire', 'tokens'));
  const key = { server: `${origin}/mcp`, issuer };
  await store.set(key, {
    client: { clientId: 'app', redirectUris: [] },
    tokens: { ...tokens, tokenType: 'Bearer', scopes: [], resource: key.server, clientId: 'app' },
  });
  return { store, key, env: { XDG_DATA_HOME: data, LOCALAPPDATA: data } };
}
