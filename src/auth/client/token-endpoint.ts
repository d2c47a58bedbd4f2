import type { AuthorizationServer, Client, TokenEndpointResponse } from 'oauth4webapi';
import { isObject } from '../../jsonrpc/message.ts';
import { clientAuthentication, type Identity } from './client-authentication.ts';
import type { DpopKey } from './dpop.ts';
import type { GuardedHttp } from './guarded-http.ts';
import { described, OAuthError } from './oauth-error.ts';

/** Refresh a token this many milliseconds before it expires. */
const EARLY = 30_000;

export interface TokenRequestContext {
  readonly server: AuthorizationServer;
  readonly client: Identity;
  readonly http: GuardedHttp;
  readonly dpop: DpopKey | undefined;
  readonly signal: AbortSignal;
}

/** A request to the token endpoint. */
export type TokenRequest =
  | {
      readonly grant: 'code';
      readonly params: URLSearchParams;
      readonly redirectUri: string;
      readonly verifier: string;
    }
  | { readonly grant: 'refresh'; readonly refreshToken: string }
  | { readonly grant: 'client_credentials' }
  | { readonly grant: 'jwt-bearer'; readonly assertion: string }
  | { readonly grant: 'token-exchange'; readonly subjectToken: string };

export interface Issued {
  readonly accessToken: string;
  readonly tokenType: 'Bearer' | 'DPoP';
  readonly refreshToken: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** When to refresh: 30 seconds before expiry, or a tenth of the lifetime if that is less. */
  readonly refreshAt: number | undefined;
  /** Undefined if the server did not send any. */
  readonly scopes: readonly string[] | undefined;
}

/** Requests an access token. Parameters and errors are those of `tokenResponse`. */
export async function requestToken(
  context: TokenRequestContext,
  request: TokenRequest,
  parameters: Readonly<Record<string, string>>,
): Promise<Issued> {
  const before = Date.now();
  return issuedFrom(await tokenResponse(context, request, parameters), before);
}

/**
 * Sends a request to the token endpoint.
 *
 * @param parameters added to those of the grant: `resource` and `scope`.
 * @throws OAuthError `token` with the server's `error` if it refuses; `unreachable`.
 */
export async function tokenResponse(
  context: TokenRequestContext,
  request: TokenRequest,
  parameters: Readonly<Record<string, string>>,
): Promise<TokenEndpointResponse> {
  const oauth = await import('oauth4webapi');
  const { server, http, dpop, signal } = context;
  const client: Client = { client_id: context.client.clientId };
  const authentication = await clientAuthentication(context.client, server);
  const options = {
    [oauth.customFetch]: async (url: string, init: Parameters<GuardedHttp['fetch']>[1]) =>
      withoutIdToken(await http.fetch(url, init)),
    // `GuardedHttp` decides which addresses are allowed.
    [oauth.allowInsecureRequests]: true,
    signal,
    ...(dpop && { DPoP: dpop.handle }),
  };
  const send = (): Promise<Response> => {
    const more = { ...options, additionalParameters: parameters };
    if (request.grant === 'code') {
      const { params, redirectUri, verifier } = request;
      return oauth.authorizationCodeGrantRequest(server, client, authentication, params, redirectUri, verifier, more);
    }
    if (request.grant === 'refresh') {
      return oauth.refreshTokenGrantRequest(server, client, authentication, request.refreshToken, more);
    }
    if (request.grant === 'client_credentials') {
      return oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, options);
    }
    const own: Record<string, string> =
      request.grant === 'jwt-bearer' ? { assertion: request.assertion } : { subject_token: request.subjectToken };
    const grant = `urn:ietf:params:oauth:grant-type:${request.grant}`;
    return oauth.genericTokenEndpointRequest(server, client, authentication, grant, { ...parameters, ...own }, options);
  };
  const receive = async (): Promise<TokenEndpointResponse> =>
    oauth.processGenericTokenEndpointResponse(server, client, await send(), {
      // What an exchange issues need not be an access token (RFC 8693, section 2.2.1).
      ...(request.grant === 'token-exchange' && { recognizedTokenTypes: { n_a: () => {} } }),
    });
  try {
    return await receive().catch((error: unknown) => {
      // RFC 9449, section 8: retry once, with the nonce from the refusal.
      if (dpop && oauth.isDPoPNonceError(error)) return receive();
      throw error;
    });
  } catch (error) {
    throw withoutSecrets(error, secretsOf(context.client, request));
  }
}

/** Removes the ID token from a response. It is not needed, so it is neither checked nor stored. */
async function withoutIdToken(response: Response): Promise<Response> {
  if (response.status !== 200) return response;
  const text = await response.text();
  let body = text;
  try {
    const { id_token: _, ...rest } = JSON.parse(text) as Record<string, unknown>;
    body = JSON.stringify(rest);
  } catch {
    // `oauth4webapi` reports the malformed body.
  }
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  return new Response(body, { status: 200, headers });
}

function issuedFrom(body: TokenEndpointResponse, before: number): Issued {
  const lifetime = body.expires_in === undefined ? undefined : body.expires_in * 1000;
  return {
    accessToken: body.access_token,
    tokenType: body.token_type === 'dpop' ? 'DPoP' : 'Bearer',
    refreshToken: body.refresh_token,
    expiresAt: lifetime === undefined ? undefined : before + lifetime,
    refreshAt: lifetime === undefined ? undefined : before + lifetime - Math.min(EARLY, lifetime / 10),
    scopes: body.scope?.split(' ').filter((scope) => scope !== ''),
  };
}

function secretsOf({ clientSecret, privateKey }: Identity, request: TokenRequest): string[] {
  const secrets = [clientSecret, typeof privateKey?.key === 'string' ? privateKey.key : undefined];
  switch (request.grant) {
    case 'code':
      secrets.push(request.verifier, request.params.get('code') ?? undefined);
      break;
    case 'refresh':
      secrets.push(request.refreshToken);
      break;
    case 'jwt-bearer':
      secrets.push(request.assertion);
      break;
    case 'token-exchange':
      secrets.push(request.subjectToken);
      break;
    case 'client_credentials':
      break;
  }
  return secrets.filter((secret) => secret !== undefined);
}

/**
 * Converts an `oauth4webapi` error to an OAuthError. The original may contain the response, and with it tokens, so only
 * the reason is kept.
 */
function withoutSecrets(thrown: unknown, secrets: readonly string[]): unknown {
  if (thrown instanceof OAuthError || !(thrown instanceof Error) || thrown.name === 'AbortError') return thrown;
  const { error, error_description: description } = thrown as { error?: unknown; error_description?: unknown };
  if (typeof error === 'string') {
    const clean = described(error, description, secrets);
    return new OAuthError('token', `The token endpoint refused: ${clean}`, {
      error: described(error, undefined, secrets),
    });
  }
  const { cause } = thrown as { cause?: unknown };
  if (Array.isArray(cause) && isObject(cause[0])) {
    const challenge = cause[0] as { parameters?: { error?: string; error_description?: string } };
    const refused = challenge.parameters?.error ?? 'invalid_client';
    const clean = described(refused, challenge.parameters?.error_description, secrets);
    return new OAuthError('token', `The token endpoint refused: ${clean}`, {
      error: described(refused, undefined, secrets),
    });
  }
  return new OAuthError(
    'token',
    `The token endpoint sent an invalid response: ${described(thrown.message, undefined, secrets)}`,
  );
}
