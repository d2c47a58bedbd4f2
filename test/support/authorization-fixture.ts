import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Json = Record<string, unknown>;

interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: Json | string | undefined;
}

/** What a test changes. Each function gets what a correct server would do, and returns what this one does. */
export interface Faults {
  readonly resourceMetadata?: (right: Json) => Json | undefined;
  readonly serverMetadata?: (right: Json) => Json | undefined;
  readonly register?: (right: Answer, body: Json) => Answer;
  /** The parameters of the callback. */
  readonly callback?: (right: URLSearchParams, request: URLSearchParams) => URLSearchParams;
  readonly token?: (right: Answer, form: URLSearchParams) => Answer;
  readonly revoke?: (right: Answer, form: URLSearchParams) => Answer;
  /** The response of the server. */
  readonly mcp?: (right: Answer, token: string | undefined, message: Json) => Answer;
  /** The audience of tokens. */
  readonly audience?: (resource: string) => string;
}

export interface Fixture {
  readonly url: string;
  readonly issuer: string;
  /** The requests, as `METHOD path`. */
  readonly asked: string[];
  /** The forms that the token endpoint got. */
  readonly forms: URLSearchParams[];
  close(): Promise<void>;
}

/**
 * A server that requires a token, and its authorization server on another port, which agrees to everything. Both are
 * correct, except for the given faults. A tool `write` needs the scope `write`.
 *
 * @param sameOrigin the server is also the authorization server, as in 2025-03-26.
 */
export async function startAuthorizationFixture(faults: Faults = {}, sameOrigin = false): Promise<Fixture> {
  const asked: string[] = [];
  const forms: URLSearchParams[] = [];
  const tokens = new Map<string, { readonly scopes: readonly string[] }>();
  const codes = new Map<string, { readonly scope: string; readonly resource: string }>();
  const refreshes = new Map<string, { readonly scope: string; readonly resource: string }>();

  const send = (response: ServerResponse, { status = 200, headers = {}, body }: Answer): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body));
  };
  const issue = ({ scope, resource }: { readonly scope: string; readonly resource: string }): Answer => {
    const claims = { aud: faults.audience?.(resource) ?? resource, jti: randomBytes(8).toString('hex') };
    const part = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const access = `${part({ alg: 'none', typ: 'at+jwt' })}.${part(claims)}.${randomBytes(32).toString('base64url')}`;
    const refresh = randomBytes(24).toString('base64url');
    tokens.set(access, { scopes: scope.split(' ') });
    refreshes.set(refresh, { scope, resource });
    const body = { access_token: access, token_type: 'Bearer', expires_in: 600, refresh_token: refresh, scope };
    return { headers: { 'cache-control': 'no-store' }, body };
  };
  const challenge = (status: number, parameters: string): Answer => ({
    status,
    headers: {
      'www-authenticate': `Bearer resource_metadata="${origins.server}/.well-known/oauth-protected-resource/mcp"${parameters}`,
    },
  });
  const mcp = (token: string | undefined, message: Json): Answer => {
    const known = tokens.get(token ?? '');
    if (token === undefined) return challenge(401, ', scope="read"');
    if (!known) return challenge(401, ', error="invalid_token"');
    const { name } = (message['params'] ?? {}) as Json;
    if (name === 'write' && !known.scopes.includes('write'))
      return challenge(403, ', error="insufficient_scope", scope="write"');
    return { body: { jsonrpc: '2.0', id: message['id'] ?? null, result: {} } };
  };

  async function onServer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url!, origins.server);
    asked.push(`${request.method} ${pathname}`);
    if (pathname === '/mcp') {
      const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1];
      const body = await text(request);
      const message = (body === '' ? {} : JSON.parse(body)) as Json;
      const right = mcp(token, message);
      return send(response, faults.mcp?.(right, token, message) ?? right);
    }
    if (pathname === '/.well-known/oauth-protected-resource/mcp' && !sameOrigin) {
      const right = { resource: `${origins.server}/mcp`, authorization_servers: [origins.issuer] };
      const body = faults.resourceMetadata ? faults.resourceMetadata(right) : right;
      return send(response, body ? { body } : { status: 404 });
    }
    return sameOrigin ? onIssuer(request, response) : send(response, { status: 404 });
  }

  async function onIssuer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { issuer } = origins;
    const { pathname, searchParams } = new URL(request.url!, issuer);
    if (!sameOrigin) asked.push(`${request.method} ${pathname}`);
    switch (pathname) {
      case '/.well-known/oauth-authorization-server': {
        const right = {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          registration_endpoint: `${issuer}/register`,
          revocation_endpoint: `${issuer}/revoke`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
          client_id_metadata_document_supported: true,
          authorization_response_iss_parameter_supported: true,
        };
        const body = faults.serverMetadata ? faults.serverMetadata(right) : right;
        return send(response, body ? { body } : { status: 404 });
      }
      case '/register': {
        const body = JSON.parse(await text(request)) as Json;
        const right = { status: 201, body: { ...body, client_id: 'the-client' } };
        return send(response, faults.register?.(right, body) ?? right);
      }
      case '/authorize': {
        const code = randomBytes(24).toString('base64url');
        codes.set(code, { scope: searchParams.get('scope') ?? '', resource: searchParams.get('resource') ?? issuer });
        const right = new URLSearchParams({ code, state: searchParams.get('state')!, iss: issuer });
        const back = new URL(searchParams.get('redirect_uri')!);
        back.search = (faults.callback?.(right, searchParams) ?? right).toString();
        response.writeHead(302, { location: back.href }).end();
        return;
      }
      case '/token': {
        const form = new URLSearchParams(await text(request));
        forms.push(form);
        const granted = codes.get(form.get('code') ?? '') ?? refreshes.get(form.get('refresh_token') ?? '');
        const right = granted ? issue(granted) : { status: 400, body: { error: 'invalid_grant' } };
        return send(response, faults.token?.(right, form) ?? right);
      }
      case '/revoke': {
        const form = new URLSearchParams(await text(request));
        tokens.delete(form.get('token') ?? '');
        return send(response, faults.revoke?.({}, form) ?? {});
      }
      default:
        return send(response, { status: 404 });
    }
  }

  const server = createServer((request, response) => void onServer(request, response));
  const authority = createServer((request, response) => void onIssuer(request, response));
  const listening = sameOrigin ? [server] : [server, authority];
  for (const each of listening) await new Promise<void>((resolve) => void each.listen(0, '127.0.0.1', resolve));
  const originOf = (each: typeof server): string => `http://127.0.0.1:${(each.address() as AddressInfo).port}`;
  const origins = { server: originOf(server), issuer: originOf(sameOrigin ? server : authority) };
  return {
    url: `${origins.server}/mcp`,
    issuer: origins.issuer,
    asked,
    forms,
    close: async () => {
      for (const each of listening) {
        each.closeAllConnections();
        await new Promise((resolve) => void each.close(resolve));
      }
    },
  };
}
