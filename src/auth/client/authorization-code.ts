import type { AuthorizationServer } from 'oauth4webapi';
import type { Identity } from './client-authentication.ts';
import { OAuthError, refused } from './oauth-error.ts';
import { requestToken, type Issued, type TokenRequestContext } from './token-endpoint.ts';
import type { LoginAttempt, ReturnedLogin } from './redirect.ts';
import { waitFor } from '../../base/wait.ts';
import { withParameters } from '../urls.ts';

export interface AuthorizationCodeOptions extends TokenRequestContext {
  readonly signal: AbortSignal;
  readonly login: LoginAttempt;
  readonly resource: string;
  /** If empty, the authorization server chooses. */
  readonly scopes: readonly string[];
}

/**
 * Sends the user to the authorization server, checks what comes back, and exchanges the code (2026-07-28,
 * basic/authorization: Authorization Flow Steps).
 *
 * @throws OAuthError
 */
export async function authorizationCode(options: AuthorizationCodeOptions): Promise<Issued> {
  const { server, client, login, resource } = options;
  checkPkce(server);
  const { redirectUri } = login;
  const { state, verifier, answer } = login.returned?.() ?? (await askAt(options));
  const code = await codeIn(answer, server, client, state, [verifier]);
  const grant = { code, redirect_uri: redirectUri, code_verifier: verifier };
  return requestToken(options, 'authorization_code', { ...grant, resource });
}

/** Sends the user to the authorization server. */
async function askAt(options: AuthorizationCodeOptions): Promise<ReturnedLogin> {
  const { server, signal, login, dpop } = options;
  // A key of this page would be lost when the page is left.
  const bound = login.returned ? undefined : dpop;
  const prepared = await authorizationRequest({ ...options, dpop: bound, redirectUri: login.redirectUri });
  const request = { ...prepared, issuer: server.issuer, signal };
  return { ...prepared, answer: await waitFor(login.authorize(request), { signal }) };
}

/**
 * Checks that the server says that it supports S256 (2026-07-28, security-considerations: Authorization Code
 * Protection).
 *
 * @throws OAuthError `pkce_unsupported`
 */
export function checkPkce({ issuer, code_challenge_methods_supported: methods }: AuthorizationServer): void {
  if (methods?.includes('S256') === true) return;
  throw new OAuthError('pkce_unsupported', `${issuer} does not say that it supports PKCE with S256`);
}

/** A request that the user's browser sends, and the secrets that belong to it. */
export interface PreparedRequest {
  readonly url: URL;
  readonly state: string;
  /** The PKCE code verifier. */
  readonly verifier: string;
}

/** Makes an authorization request, with a new state and a new PKCE verifier. @throws OAuthError `blocked` */
export async function authorizationRequest({
  server,
  client,
  http,
  dpop,
  redirectUri,
  resource,
  scopes,
}: Omit<AuthorizationCodeOptions, 'login' | 'signal'> & { readonly redirectUri: string }): Promise<PreparedRequest> {
  const oauth = await import('oauth4webapi');
  const endpoint = http.permitted(server.authorization_endpoint, 'authorization_endpoint');
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const parameters = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    // OpenID Connect Core, section 11.
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
    ...(dpop && { dpop_jkt: await dpop.handle.calculateThumbprint() }),
  };
  return { url: withParameters(endpoint, parameters), state, verifier };
}

/**
 * The code in an authorization response, after all checks.
 *
 * @param secrets what no error may show, besides the state.
 * @throws OAuthError
 */
export async function codeIn(
  answer: URLSearchParams,
  server: AuthorizationServer,
  client: Identity,
  state: string,
  secrets: readonly string[],
): Promise<string> {
  checkIssuer(answer, server.issuer, server.authorization_response_iss_parameter_supported === true);
  // Only the server that we asked knows the state. Ignore any response with a different state, including errors.
  if (answer.getAll('state').length !== 1 || answer.get('state') !== state) {
    throw new OAuthError(
      'authorization',
      'The authorization response does not have the state of the request: log in again',
    );
  }
  const error = answer.get('error');
  if (error !== null) {
    const reason = { error, description: answer.get('error_description') };
    throw refused('authorization', `${server.issuer} did not grant access`, reason, [...secrets, state]);
  }
  const oauth = await import('oauth4webapi');
  try {
    const code = oauth.validateAuthResponse(server, { client_id: client.clientId }, answer, state).get('code');
    if (code) return code;
  } catch {
    // The same problem as an empty code.
  }
  throw new OAuthError('authorization', 'The authorization response has no code');
}

/**
 * Checks that the response comes from the expected issuer. The comparison is exact, without normalization (2026-07-28,
 * basic/authorization: Authorization Response Validation).
 *
 * @param answer the response parameters, errors included. The content of a response from another issuer is never shown.
 * @param promised whether the issuer promises to always send `iss`.
 * @throws OAuthError `issuer_mismatch`
 */
export function checkIssuer(answer: URLSearchParams, issuer: string, promised: boolean): void {
  const named = answer.getAll('iss');
  if (named.length === 0 && !promised) return;
  if (named.length === 1 && named[0] === issuer) return;
  const what = named.length === 0 ? 'lacks the required issuer' : 'comes from another issuer';
  throw new OAuthError('issuer_mismatch', `The authorization response ${what}: expected ${issuer}`);
}
