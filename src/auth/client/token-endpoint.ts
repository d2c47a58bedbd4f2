import type { AuthorizationServer, Client, TokenEndpointResponse } from 'oauth4webapi';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { clientAuthentication, secretsOfClient, type Identity } from './client-authentication.ts';
import type { DpopKey } from './dpop.ts';
import type { GuardedHttp } from './guarded-http.ts';
import { OAuthError, oneLine, refused } from './oauth-error.ts';

/** Refresh a token this many milliseconds before it expires. */
const EARLY = 30_000;

/** The longest token, and the longest list of scopes. Longer ones do not fit into a request. In characters. */
const MAX_TOKEN = 16_384;
/** RFC 6749, appendix A.12 and A.17. */
export const TOKEN = /^[\x20-\x7e]+$/;

export interface TokenRequestContext {
  readonly server: AuthorizationServer;
  readonly client: Identity;
  readonly http: GuardedHttp;
  readonly dpop: DpopKey | undefined;
  /** Undefined: only the time limit of `GuardedHttp` ends the request. */
  readonly signal: AbortSignal | undefined;
}

/** The grant type of a token exchange. It need not issue an access token (RFC 8693, section 2.2.1). */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
/** The parameters that no error may show. */
const SECRETS = ['assertion', 'code', 'code_verifier', 'refresh_token', 'subject_token'];

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
  grant: string,
  parameters: Readonly<Record<string, string>>,
): Promise<Issued> {
  const before = Date.now();
  return issuedFrom(await tokenResponse(context, grant, parameters), before);
}

/**
 * Sends a request to the token endpoint.
 *
 * @param grant the `grant_type`.
 * @throws OAuthError `token` with the server's `error` if it refuses; `unreachable`, also for status 429 and from 500 on.
 */
export async function tokenResponse(
  context: TokenRequestContext,
  grant: string,
  parameters: Readonly<Record<string, string>>,
): Promise<TokenEndpointResponse> {
  const oauth = await import('oauth4webapi');
  const { server, http, dpop, signal } = context;
  const client: Client = { client_id: context.client.clientId };
  const authentication = await clientAuthentication(context.client, server);
  const options = {
    [oauth.customFetch]: async (url: string, init: Parameters<GuardedHttp['fetch']>[1]) =>
      withoutIdToken(working(await http.fetch(url, init), server)),
    // `GuardedHttp` decides which addresses are allowed.
    [oauth.allowInsecureRequests]: true,
    ...(signal && { signal }),
    ...(dpop && { DPoP: dpop.handle }),
  };
  const types = grant === TOKEN_EXCHANGE ? { recognizedTokenTypes: { n_a: () => {} } } : {};
  const request = async (): Promise<TokenEndpointResponse> => {
    const sent = { ...parameters };
    const response = await oauth.genericTokenEndpointRequest(server, client, authentication, grant, sent, options);
    const issued = await oauth.processGenericTokenEndpointResponse(server, client, response, types);
    checkIssued(issued);
    return issued;
  };
  try {
    return await request().catch((error: unknown) => {
      // RFC 9449, section 8: retry once, with the nonce from the refusal.
      if (dpop && oauth.isDPoPNonceError(error)) return request();
      throw error;
    });
  } catch (error) {
    throw withoutSecrets(error, 'The token endpoint', secretsOf(context.client, parameters));
  }
}

/** @throws OAuthError if the server has a temporary problem, so that it has not refused the request. */
function working(response: Response, { issuer }: AuthorizationServer): Response {
  if (response.status < 500 && response.status !== 429) return response;
  throw new OAuthError('unreachable', `The token endpoint of ${issuer}: status ${response.status}`);
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

/** @throws TypeError that contains no token. */
function checkIssued({
  access_token: access,
  refresh_token: refresh = access,
  scope = '',
  expires_in: lifetime = Infinity,
}: TokenEndpointResponse): void {
  // Each request would need a new login.
  if (lifetime < 1) throw new TypeError('the token has expired already');
  for (const token of [access, refresh]) {
    if (!TOKEN.test(token)) throw new TypeError('a token has characters that are not allowed');
    if (token.length > MAX_TOKEN) throw new TypeError(`a token is longer than ${MAX_TOKEN} characters`);
  }
  if (scope.length > MAX_TOKEN) throw new TypeError(`the scope is longer than ${MAX_TOKEN} characters`);
}

function issuedFrom(body: TokenEndpointResponse, before: number): Issued {
  // JSON cannot hold Infinity, so a store could not keep it.
  const lifetime =
    body.expires_in === undefined ? undefined : Math.min(body.expires_in * 1000, Number.MAX_SAFE_INTEGER);
  return {
    accessToken: body.access_token,
    tokenType: body.token_type === 'dpop' ? 'DPoP' : 'Bearer',
    refreshToken: body.refresh_token,
    expiresAt: lifetime === undefined ? undefined : before + lifetime,
    refreshAt: lifetime === undefined ? undefined : before + lifetime - Math.min(EARLY, lifetime / 10),
    scopes: body.scope?.split(' ').filter((scope) => scope !== ''),
  };
}

function secretsOf(client: Identity, parameters: Readonly<Record<string, string>>): string[] {
  const sent = SECRETS.map((name) => parameters[name]).filter((secret) => secret !== undefined);
  return [...secretsOfClient(client), ...sent];
}

/**
 * Converts an `oauth4webapi` error to an OAuthError. The original may contain the response, and with it tokens, so only
 * the reason is kept.
 *
 * @param endpoint who refused the request, for the message.
 */
export function withoutSecrets(thrown: unknown, endpoint: string, secrets: readonly string[]): unknown {
  if (thrown instanceof OAuthError || !(thrown instanceof Error) || thrown.name === 'AbortError') return thrown;
  const { error, error_description: description, cause }: JsonObject = thrown;
  const what = `${endpoint} refused`;
  if (typeof error === 'string') return refused('token', what, { error, description }, secrets);
  if (Array.isArray(cause) && isObject(cause[0])) {
    const { error: named = 'invalid_client', error_description: why } = (cause[0]['parameters'] ?? {}) as JsonObject;
    return refused('token', what, { error: named, description: why }, secrets);
  }
  return new OAuthError('token', `${endpoint} sent an invalid response: ${oneLine(thrown.message, secrets)}`);
}
