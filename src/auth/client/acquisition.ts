import { authorizationCode } from './authorization-code.ts';
import type { Identity } from './client-authentication.ts';
import type { Authority } from './discovery.ts';
import { DpopKey } from './dpop.ts';
import type { GuardedHttp } from './guarded-http.ts';
import { OAuthError } from './oauth-error.ts';
import type { OAuthOptions } from './options.ts';
import { checkRedirect, knownClient, register, stillGood } from './registration.ts';
import { covers, selectScopes } from './scopes.ts';
import { requestToken, type Issued, type TokenRequestContext } from './token-endpoint.ts';
import type { CredentialKey, StoredCredentials, StoredTokens, TokenStore } from './token-store.ts';

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

/** One attempt to get a token. It runs while the lock of its key is held. */
export class Acquisition {
  readonly #options: OAuthOptions & { readonly store: TokenStore };
  readonly #http: GuardedHttp;
  readonly #authority: Authority;
  readonly #demand: Demand;
  readonly #key: CredentialKey;
  readonly #signal: AbortSignal;

  constructor(
    options: OAuthOptions & { readonly store: TokenStore },
    http: GuardedHttp,
    authority: Authority,
    demand: Demand,
    key: CredentialKey,
    signal: AbortSignal,
  ) {
    this.#options = options;
    this.#http = http;
    this.#authority = authority;
    this.#demand = demand;
    this.#key = key;
    this.#signal = signal;
  }

  /** Returns undefined if a refresh is not possible or does not help. */
  async refresh(stored: StoredCredentials | undefined): Promise<Acquired | undefined> {
    const { tokens } = stored ?? {};
    const { stepUp, scopes } = this.#demand;
    const { resource, server } = this.#authority;
    if (
      tokens?.refreshToken === undefined ||
      stepUp ||
      tokens.resource !== resource ||
      !covers(tokens.scopes, scopes)
    ) {
      return undefined;
    }
    const client = knownClient(this.#options, server) ?? stored!.client;
    if (client?.clientId !== tokens.clientId) return undefined;
    const dpop = tokens.dpopKey ? await DpopKey.open(tokens.dpopKey) : undefined;
    try {
      const parameters = { refresh_token: tokens.refreshToken, resource };
      const issued = await requestToken(this.#context(client, dpop), 'refresh_token', parameters);
      return await this.#keep(
        stored,
        client.clientId,
        tokens.scopes,
        // A refresh grants no further scopes (RFC 6749, section 6).
        { ...issued, refreshToken: issued.refreshToken ?? tokens.refreshToken, scopes: undefined },
        dpop,
      );
    } catch (error) {
      if (!(error instanceof OAuthError && NO_USE.has(error.error))) throw error;
      // The refresh token is no longer usable, so get a new one. Register again if the server no longer knows the client.
      const registered = error.error === 'invalid_grant' ? stored!.client : undefined;
      const { refreshToken: _, ...rest } = tokens;
      await this.#options.store.set(this.#key, { ...(registered && { client: registered }), tokens: rest });
      return undefined;
    }
  }

  async grant(before: StoredCredentials | undefined): Promise<Acquired> {
    const { redirect, scopes: wanted = [], offline = true, clientCredentials } = this.#options;
    const { server, resource, scopesSupported } = this.#authority;
    const scopes = selectScopes({
      wanted,
      challenged: this.#demand.scopes,
      supported: scopesSupported,
      former: before?.tokens?.resource === resource ? before.tokens.scopes : [],
      offered: server.scopes_supported,
      offline: offline && redirect !== undefined,
    });
    const dpop = this.#wantsDpop() ? await DpopKey.open() : undefined;
    if (redirect) return this.#askUser(scopes, dpop);
    const client = knownClient(this.#options, server);
    if (!client)
      throw new OAuthError(
        'registration',
        `${server.issuer} does not support client ID metadata documents: register a client there, and set client.clientId`,
      );
    const parameters = { resource, ...(scopes.length > 0 && { scope: scopes.join(' ') }) };
    const context = this.#context(client, dpop);
    const stored = await this.#options.store.get(this.#key);
    if (clientCredentials) {
      const issued = await requestToken(context, 'client_credentials', parameters);
      return this.#keep(stored, client.clientId, scopes, issued, dpop);
    }
    const assertion = await this.#options.assertion!({ issuer: server.issuer, resource, scopes, signal: this.#signal });
    const issued = await requestToken(context, JWT_BEARER, { ...parameters, assertion });
    return this.#keep(stored, client.clientId, scopes, issued, dpop);
  }

  async #askUser(scopes: readonly string[], dpop: DpopKey | undefined): Promise<Acquired> {
    const { store } = this.#options;
    const { server, resource } = this.#authority;
    for (let first = true; ; first = false) {
      const stored = await store.get(this.#key);
      const known = knownClient(this.#options, server);
      const login = await this.#options.redirect!.start(stored?.client?.redirectUris ?? []);
      try {
        checkRedirect(login.redirectUri);
        const former = stored?.client && stillGood(stored.client, login.redirectUri) ? stored.client : undefined;
        let client: Identity = known ?? former!;
        if (!known && !former) {
          const registered = await register(this.#options, server, login.redirectUri, this.#http, this.#signal);
          await store.set(this.#key, { ...stored, client: registered });
          client = registered;
        }
        const issued = await authorizationCode({ ...this.#context(client, dpop), login, resource, scopes });
        return await this.#keep(await store.get(this.#key), client.clientId, scopes, issued, dpop);
      } catch (error) {
        if (known || !(error instanceof OAuthError)) throw error;
        const forgotten = error.error === 'invalid_client';
        // A server that does not know the client shows an error page and does not redirect back.
        if (forgotten || error.code === 'timeout') await this.#forgetClient();
        if (!first || !forgotten) throw error;
      } finally {
        await login.close();
      }
    }
  }

  /** Makes the next login register a new client. */
  async #forgetClient(): Promise<void> {
    const { tokens } = (await this.#options.store.get(this.#key)) ?? {};
    if (tokens) await this.#options.store.set(this.#key, { tokens });
    else await this.#options.store.delete(this.#key);
  }

  #wantsDpop(): boolean {
    const { dpop = 'auto' } = this.#options;
    if (dpop !== 'auto') return dpop;
    return this.#demand.dpop || this.#authority.dpopRequired;
  }

  #context(client: Identity, dpop: DpopKey | undefined): TokenRequestContext {
    return { server: this.#authority.server, client, http: this.#http, dpop, signal: this.#signal };
  }

  async #keep(
    before: StoredCredentials | undefined,
    clientId: string,
    asked: readonly string[],
    { accessToken, tokenType, refreshToken, expiresAt, refreshAt, scopes = [] }: Issued,
    dpop: DpopKey | undefined,
  ): Promise<Acquired> {
    // RFC 9449, section 5: the authorization server decides whether to bind the token, and the client may accept an
    // unbound one.
    if (this.#options.dpop === true && tokenType !== 'DPoP') {
      throw new OAuthError('token', `${this.#key.issuer} does not issue tokens that are bound to a key (DPoP)`);
    }
    const { metadataUrl, resource } = this.#authority;
    const tokens: StoredTokens = {
      accessToken,
      tokenType,
      scopes: [...new Set([...asked, ...scopes])],
      resource,
      clientId,
      ...(refreshToken !== undefined && { refreshToken }),
      ...(expiresAt !== undefined && { expiresAt, refreshAt }),
      ...(metadataUrl !== undefined && { metadataUrl }),
      ...(dpop && { dpopKey: dpop.jwk }),
    };
    await this.#options.store.set(this.#key, { ...(before?.client && { client: before.client }), tokens });
    return { tokens, dpop };
  }
}
