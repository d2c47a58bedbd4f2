import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Certificate } from '../support/certificate.ts';
import type { McpServer } from '../../src/server/index.ts';
import { server as demo } from '../../examples/demo.ts';

/** The demo server with a login, and its authorization server, at the same origin. */
export interface LoginServer {
  readonly url: string;
  readonly port: number;
  /** The number of tokens issued. */
  readonly issued: () => number;
  /** Makes all tokens invalid. */
  forget(): void;
  close(): void;
}

/** @param name serve another server over HTTPS, under this name only. The test has to lead it to the port. */
export async function startLoginServer(
  name?: { readonly host: string; readonly server: McpServer } & Certificate,
): Promise<LoginServer> {
  const { node } = name?.server ?? demo;
  const tokens = new Set<string>();
  const onrequest = (request: IncomingMessage, response: ServerResponse): void => void answer(request, response);
  const http = name ? createHttps(name, onrequest) : createServer(onrequest);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const origin = name ? `https://${name.host}` : `http://127.0.0.1:${port}`;
  const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;

  const json = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', origin);
    switch (url.pathname) {
      case '/mcp': {
        if (tokens.has(request.headers.authorization ?? '')) return node(request, response);
        response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
        return;
      }
      case '/.well-known/oauth-protected-resource/mcp':
        return json(response, 200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
      case '/.well-known/oauth-authorization-server':
        return json(response, 200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
        });
      case '/register':
        return json(response, 201, { ...(JSON.parse(await text(request)) as object), client_id: 'everwire' });
      case '/authorize': {
        const back = new URL(url.searchParams.get('redirect_uri')!);
        back.searchParams.set('code', 'the-code');
        back.searchParams.set('state', url.searchParams.get('state')!);
        response.writeHead(302, { location: back.href }).end();
        return;
      }
      case '/token': {
        const token = randomUUID();
        tokens.add(`Bearer ${token}`);
        return json(response, 200, { access_token: token, token_type: 'Bearer', expires_in: 3600 });
      }
      default:
        return json(response, 404, {});
    }
  }

  return {
    url: `${origin}/mcp`,
    port,
    issued: () => tokens.size,
    forget: () => tokens.clear(),
    close: () => void http.close(),
  };
}
