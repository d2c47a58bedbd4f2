import { authorizationCode } from './authorization-code.ts';
import type { Identity } from './client-authentication.ts';
import type { Authority } from './discovery.ts';
import { DpopKey } from './dpop.ts';
import type { GuardedHttp } from './guarded-http.ts';
import { OAuthError } from './oauth-error.ts';
import type { OAuthOptions } from './options.ts';
import type { RedirectHandler } from './redirect.ts';
import { checkRedirect } from './redirect-uri.ts';
import { knownClient, register, canReuse } from './registration.ts';
import { covers, selectScopes } from './scopes.ts';
import { requestToken, type Issued, type TokenRequestContext } from './token-endpoint.ts';
import type { CredentialKey, StoredClient, StoredCredentials, StoredTokens, TokenStore } from './token-store.ts';

/** Why a new token is needed. */
export interface Demand {
  /** The token that was refused. */
  readonly used: string | undefined;
  /** The scopes of the challenge. */
  readonly scopes: readonly string[] | undefined;
  /** The `resource_metadata` of the challenge. */
  readonly metadataUrl: string | undefined;
  /** The server accepts only DPoP tokens. */
  readonly dpop: boolean;
  /** The token was valid, but its scopes do not suffice. A refresh would not help. */
  readonly stepUp: boolean;
}

/** Tokens, and the key that they are bound to. */
export interface Acquired {
  readonly tokens: StoredTokens;
  readonly dpop: DpopKey | undefined;
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** Token endpoint errors after which a refresh token is no longer usable (RFC 6749, section 5.2). */
const NO_USE: ReadonlySet<string | undefined> = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client']);

/** One attempt to get a token. */
export interface Attempt {
  readonly options: OAuthOptions & { readonly store: TokenStore };
  readonly http: GuardedHttp;
  readonly authority: Authority;
  readonly demand: Demand;
  readonly key: CredentialKey;
  readonly signal: AbortSignal;
}

/** Returns undefined if a refresh is not possible or does not help. Runs while the lock of its key is held. */
export async function refresh(attempt: Attempt, stored: StoredCredentials | undefined): Promise<Acquired | undefined> {
  const { tokens } = stored ?? {};
  const { options, key, demand, authority } = attempt;
  const { resource, server } = authority;
  if (
    tokens?.refreshToken === undefined ||
    demand.stepUp ||
    tokens.resource !== resource ||
    !covers(tokens.scopes, demand.scopes)
  ) {
    return undefined;
  }
  const client = knownClient(options, server) ?? stored!.client;
  if (client?.clientId !== tokens.clientId) return undefined;
  const dpop = tokens.dpopKey ? await DpopKey.open(tokens.dpopKey) : undefined;
  attempt.signal.throwIfAborted();
  try {
    const parameters = { refresh_token: tokens.refreshToken, resource };
    // The server replaces a refresh token when it is used. So its answer is needed, even if no caller waits for it.
    const context = { ...contextOf(attempt, client, dpop), signal: undefined };
    const issued = await requestToken(context, 'refresh_token', parameters);
    // A refresh grants no further scopes (RFC 6749, section 6).
    const granted = issued.scopes ?? tokens.grantedScopes;
    const next = { ...issued, refreshToken: issued.refreshToken ?? tokens.refreshToken, scopes: undefined };
    return await keep(attempt, stored, client.clientId, tokens.scopes, next, dpop, granted);
  } catch (error) {
    if (!(error instanceof OAuthError && error.code === 'token')) throw error;
    // Some servers refuse a refresh token with another error, or with an error that OAuth does not define. A new token
    // helps then, too.
    if (!NO_USE.has(error.error)) return undefined;
    // Register again if the server no longer knows the client.
    const registered = error.error === 'invalid_grant' ? stored!.client : undefined;
    const { refreshToken: _, ...rest } = tokens;
    await options.store.set(key, { ...(registered && { client: registered }), tokens: rest });
    return undefined;
  }
}

/**
 * Gets a new token without a refresh token. May ask the user to log in. Runs while the lock of its key is held, or, if it asks
 * the user, a lock for logins only.
 */
export async function grant(attempt: Attempt, before: StoredCredentials | undefined): Promise<Acquired> {
  const { options, key, demand, authority, signal } = attempt;
  const { redirect, scopes: wanted = [], offline = true, clientCredentials, dpop: binds = 'auto' } = options;
  const { server, resource, scopesSupported, dpopRequired } = authority;
  const scopes = selectScopes({
    wanted,
    challenged: demand.scopes,
    supported: scopesSupported,
    former: before?.tokens?.resource === resource ? before.tokens.scopes : [],
    offered: server.scopes_supported,
    offline: offline && redirect !== undefined,
  });
  const wantsDpop = binds === 'auto' ? demand.dpop || dpopRequired : binds;
  const dpop = wantsDpop ? await DpopKey.open() : undefined;
  if (redirect) return askUser(attempt, redirect, scopes, dpop);
  const client = knownClient(options, server);
  if (!client)
    throw new OAuthError(
      'registration',
      `${server.issuer} does not support client ID metadata documents: register a client there, and set client.clientId`,
    );
  const parameters = { resource, ...(scopes.length > 0 && { scope: scopes.join(' ') }) };
  const context = contextOf(attempt, client, dpop);
  const stored = await options.store.get(key);
  if (clientCredentials) {
    const issued = await requestToken(context, 'client_credentials', parameters);
    return keep(attempt, stored, client.clientId, scopes, issued, dpop);
  }
  const assertion = await options.assertion!({ issuer: server.issuer, resource, scopes, signal });
  const issued = await requestToken(context, JWT_BEARER, { ...parameters, assertion });
  return keep(attempt, stored, client.clientId, scopes, issued, dpop);
}

async function askUser(
  attempt: Attempt,
  redirect: RedirectHandler,
  scopes: readonly string[],
  dpop: DpopKey | undefined,
): Promise<Acquired> {
  const { options, http, key, signal, demand } = attempt;
  const { server, resource } = attempt.authority;
  const { store } = options;
  const further = demand.stepUp ? demand.scopes : undefined;
  for (let first = true; ; first = false) {
    const stored = await store.get(key);
    const known = knownClient(options, server);
    const login = await redirect.start(stored?.client?.redirectUris ?? [], further, key);
    let registered: StoredClient | undefined;
    try {
      checkRedirect(login.redirectUri);
      registered = !known && stored?.client && canReuse(stored.client, login.redirectUri) ? stored.client : undefined;
      if (!known && !registered) {
        const client = await register(options, server, login.redirectUri, http, signal);
        await store.locked(key, async () => store.set(key, { ...(await store.get(key)), client }));
        registered = client;
      }
      const client: Identity = known ?? registered!;
      const issued = await authorizationCode({ ...contextOf(attempt, client, dpop), signal, login, resource, scopes });
      return await store.locked(key, async () => {
        // A refresh that failed during the login has removed the client.
        const before = registered ? { client: registered } : await store.get(key);
        return keep(attempt, before, client.clientId, scopes, issued, dpop);
      });
    } catch (error) {
      if (!registered || !(error instanceof OAuthError)) throw error;
      const { clientId } = registered;
      const forgotten = error.error === 'invalid_client';
      // A server that does not know the client shows an error page and does not redirect back.
      if (forgotten || error.code === 'timeout') await store.locked(key, () => forgetClient(store, key, clientId));
      if (!first || !forgotten) throw error;
    } finally {
      await login.close();
    }
  }
}

/** Makes the next login register a new client, unless another login has done so already. */
async function forgetClient(store: TokenStore, key: CredentialKey, clientId: string): Promise<void> {
  const { tokens, client } = (await store.get(key)) ?? {};
  if (client?.clientId !== clientId) return;
  if (tokens) await store.set(key, { tokens });
  else await store.delete(key);
}

function contextOf(
  { authority: { server }, http, signal }: Attempt,
  client: Identity,
  dpop: DpopKey | undefined,
): TokenRequestContext {
  return { server, client, http, dpop, signal };
}

async function keep(
  { options, authority: { metadataUrl, resource }, key }: Attempt,
  before: StoredCredentials | undefined,
  clientId: string,
  asked: readonly string[],
  { accessToken, tokenType, refreshToken, expiresAt, refreshAt, scopes }: Issued,
  dpop: DpopKey | undefined,
  granted = scopes,
): Promise<Acquired> {
  // RFC 9449, section 5: the authorization server decides whether to bind the token, and the client may accept an
  // unbound one.
  if (options.dpop === true && tokenType !== 'DPoP') {
    throw new OAuthError('token', `${key.issuer} does not issue tokens that are bound to a key (DPoP)`);
  }
  const tokens: StoredTokens = {
    accessToken,
    tokenType,
    scopes: [...new Set([...asked, ...(scopes ?? [])])],
    ...(granted && { grantedScopes: granted }),
    resource,
    clientId,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(expiresAt !== undefined && { expiresAt, refreshAt }),
    ...(metadataUrl !== undefined && { metadataUrl }),
    ...(dpop && { dpopKey: dpop.jwk }),
  };
  await dropOthers(options.store, key);
  await options.store.set(key, { ...(before?.client && { client: before.client }), tokens });
  return { tokens, dpop };
}

/**
 * Drops tokens of other authorization servers (2026-07-28, basic/authorization: Token Handling). Until there are new
 * tokens, the old ones are kept: the server may have sent wrong metadata for a moment.
 */
export async function dropOthers(store: TokenStore, { server, issuer }: CredentialKey): Promise<void> {
  for (const other of await store.issuers(server)) {
    // Stryker disable next-line ConditionalExpression: the own tokens would be dropped, and written again at once
    if (other === issuer) continue;
    const key = { server, issuer: other };
    const { tokens, client } = (await store.get(key)) ?? {};
    // Stryker disable next-line ConditionalExpression: without tokens, the entry stays as it is
    if (tokens) await (client ? store.set(key, { client }) : store.delete(key));
  }
}
