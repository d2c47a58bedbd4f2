import type { AuthorizationServer, Client } from 'oauth4webapi';
import { clientAuthentication, secretsOfClient, type Identity } from './client-authentication.ts';
import { authorizationServer } from './discovery.ts';
import { GuardedHttp, type GuardedHttpOptions } from './guarded-http.ts';
import { OAuthError } from './oauth-error.ts';
import { withoutSecrets } from './token-endpoint.ts';
import type { CredentialKey, StoredTokens } from './token-store.ts';

/**
 * Revokes the refresh token and the access token at their authorization server (RFC 7009). If one of them is refused,
 * the other is revoked nevertheless. An authorization server need not be able to revoke access tokens, such as signed
 * ones (RFC 7009, section 2): after the refresh token was revoked, this is no failure.
 *
 * @param client the client that the tokens were issued to.
 * @param options how requests to the authorization server are sent.
 * @returns whether the access token was revoked, too.
 * @throws OAuthError if a token was not revoked.
 */
export async function revokeTokens(
  { server, issuer }: CredentialKey,
  { refreshToken, accessToken }: StoredTokens,
  client: Identity,
  options: Omit<GuardedHttpOptions, 'server'> = {},
): Promise<boolean> {
  const { allowPrivateNetwork, fetch, proxy } = options;
  const http = new GuardedHttp({ server: new URL(server), allowPrivateNetwork, fetch, proxy });
  // Each request has its own time limit.
  const metadata = await authorizationServer(issuer, http, new AbortController().signal);
  return revokeAt(metadata, { refreshToken, accessToken }, client, http);
}

/** The same at an authorization server whose metadata is known. */
export async function revokeAt(
  metadata: AuthorizationServer,
  { refreshToken, accessToken }: Pick<StoredTokens, 'refreshToken' | 'accessToken'>,
  client: Identity,
  http: GuardedHttp,
): Promise<boolean> {
  const { issuer } = metadata;
  if (metadata.revocation_endpoint === undefined) {
    throw new OAuthError('discovery', `${issuer} has no revocation endpoint`);
  }
  const oauth = await import('oauth4webapi');
  const as: Client = { client_id: client.clientId };
  const authentication = await clientAuthentication(client, metadata);
  const sending = {
    [oauth.customFetch]: (url: string, init: Parameters<GuardedHttp['fetch']>[1]) => http.fetch(url, init),
    // `GuardedHttp` decides which addresses are allowed.
    [oauth.allowInsecureRequests]: true,
  };
  const revoke = async (token: string, kind: 'access' | 'refresh'): Promise<void> => {
    try {
      const additionalParameters = { token_type_hint: `${kind}_token` };
      const sent = { ...sending, additionalParameters };
      await oauth.processRevocationResponse(await oauth.revocationRequest(metadata, as, authentication, token, sent));
    } catch (error) {
      // What one is refused for may name the other, which may still be valid.
      const tokens = [accessToken, refreshToken].filter((secret) => secret !== undefined);
      const secrets = [...secretsOfClient(client), ...tokens];
      throw withoutSecrets(error, `${issuer}, asked to revoke the ${kind} token,`, secrets);
    }
  };
  const [refresh, access] = await Promise.allSettled([
    refreshToken === undefined ? undefined : revoke(refreshToken, 'refresh'),
    revoke(accessToken, 'access'),
  ]);
  if (refresh.status === 'rejected') throw refresh.reason;
  if (access.status === 'fulfilled') return true;
  const { reason } = access;
  if (refreshToken !== undefined && reason instanceof OAuthError && reason.error === 'unsupported_token_type')
    return false;
  throw reason;
}
