import type { AuthorizationServer, Client, TokenEndpointResponse } from 'oauth4webapi';
import { isObject } from '../../jsonrpc/message.ts';
import { clientAuthentication, type Identity } from './client-authentication.ts';
import type { DpopKey } from './dpop.ts';
import type { GuardedHttp } from './guarded-http.ts';
import { described, OAuthError } from './oauth-error.ts';

/** Milliseconds before its end at which a token is refreshed. */
const EARLY = 30_000;

export interface TokenRequestContext {
  readonly server: AuthorizationServer;
  readonly client: Identity;
  readonly http: GuardedHttp;
  readonly dpop: DpopKey | undefined;
  readonly signal: AbortSignal;
}

/** What a token endpoint is asked. */
export type TokenRequest =
  | {
      readonly grant: 'code';
      readonly params: URLSearchParams;
      readonly redirectUri: string;
      readonly verifier: string;
    }
  | { readonly grant: 'refresh'; readonly refreshToken: string }
  | { readonly grant: 'client_credentials' }
  | { readonly grant: 'jwt-bearer'; readonly assertion: string };

export interface Issued {
  readonly accessToken: string;
  readonly tokenType: 'Bearer' | 'DPoP';
  readonly refreshToken: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** When to get the next: 30 seconds before its end, or a tenth of its time where that is less. */
  readonly refreshAt: number | undefined;
  /** Undefined where the server did not say. */
  readonly scopes: readonly string[] | undefined;
}

/**
 * Asks a token endpoint.
 *
 * @param parameters beside those of the grant: `resource` and `scope`.
 * @throws OAuthError `token` where it refuses, with its `error`; `unreachable`.
 */
export async function requestToken(
  context: TokenRequestContext,
  request: TokenRequest,
  parameters: Readonly<Record<string, string>>,
): Promise<Issued> {
  const oauth = await import('oauth4webapi');
  const { server, http, dpop, signal } = context;
  const client: Client = { client_id: context.client.clientId };
  const authentication = await clientAuthentication(context.client, server);
  const before = Date.now();
  const options = {
    [oauth.customFetch]: async (url: string, init: Parameters<GuardedHttp['fetch']>[1]) =>
      withoutIdToken(await http.fetch(url, init)),
    // Which addresses may be asked is up to the guard.
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
    const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    const all = { ...parameters, assertion: request.assertion };
    return oauth.genericTokenEndpointRequest(server, client, authentication, grant, all, options);
  };
  const receive = async (): Promise<TokenEndpointResponse> =>
    oauth.processGenericTokenEndpointResponse(server, client, await send());
  try {
    const body = await receive().catch((error: unknown) => {
      // RFC 9449, section 8: once more, with the nonce that came with the refusal.
      if (dpop && oauth.isDPoPNonceError(error)) return receive();
      throw error;
    });
    return issuedFrom(body, before);
  } catch (error) {
    throw withoutSecrets(error, secretsOf(context.client, request));
  }
}

/** Who the user is, is not asked for here: an ID token is neither checked nor kept. */
async function withoutIdToken(response: Response): Promise<Response> {
  if (response.status !== 200) return response;
  const text = await response.text();
  let body = text;
  try {
    const { id_token: _, ...rest } = JSON.parse(text) as Record<string, unknown>;
    body = JSON.stringify(rest);
  } catch {
    // `oauth4webapi` says what is wrong with it.
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
    case 'client_credentials':
      break;
  }
  return secrets.filter((secret) => secret !== undefined);
}

/**
 * What went wrong at an authorization server, in an error of ours. Those of `oauth4webapi` hold the response, which may hold
 * tokens; so nothing is kept of them but the reason.
 */
export function withoutSecrets(thrown: unknown, secrets: readonly string[]): unknown {
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
    `The token endpoint gave no proper answer: ${described(thrown.message, undefined, secrets)}`,
  );
}
