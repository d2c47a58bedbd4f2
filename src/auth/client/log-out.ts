import type { Identity } from './client-authentication.ts';
import type { GuardedHttpOptions } from './guarded-http.ts';
import { lockedSoon } from './locked-soon.ts';
import { revokeTokens } from './revocation.ts';
import type { CredentialKey, StoredCredentials, TokenStore } from './token-store.ts';

/** The options of a logout: those that `oauth` got for the same server. */
export interface LogoutOptions extends Omit<GuardedHttpOptions, 'server'> {
  /** The endpoint of the server. */
  readonly server: string | URL;
  /** Where the credentials are kept. */
  readonly store: TokenStore;
  /** The client, if it was registered by hand. Default: the stored one. */
  readonly client?: Identity | undefined;
}

/** An authorization server whose tokens were deleted. */
export interface LoggedOut {
  readonly issuer: string;
  /** Why its tokens were not revoked. Undefined if they were, or if only the access token cannot be. */
  readonly error: Error | undefined;
  /**
   * Whether the access token stays valid until `expiresAt`: the authorization server cannot revoke access tokens, or
   * revoking has failed.
   */
  readonly accessTokenLasts: boolean;
  /** When the access token expires, in milliseconds since 1970. Undefined if that is not known. */
  readonly expiresAt: number | undefined;
}

/**
 * Logs out of a server: deletes its tokens and registered clients from the store, then revokes the tokens at the
 * authorization server (RFC 7009). The tokens are deleted even if they cannot be revoked, for example because the
 * authorization server is down. Waits at most 10 seconds for a login or refresh that is in progress.
 *
 * Authorizers that were created before keep the access token in memory. Create a new one for the next login.
 *
 * @returns one entry for each authorization server with tokens; none if nobody was logged in.
 * @throws the errors of the store.
 */
export async function logOut(options: LogoutOptions): Promise<readonly LoggedOut[]> {
  const { store, client } = options;
  const server = serverKey(options.server);
  const deleted: { readonly at: CredentialKey; readonly credentials: StoredCredentials }[] = [];
  for (const issuer of await store.issuers(server)) {
    const at = { server, issuer };
    await lockedSoon(store, at, async () => {
      const credentials = await store.get(at);
      await store.delete(at);
      if (credentials?.tokens) deleted.push({ at, credentials });
    });
  }
  return Promise.all(
    deleted.map(async ({ at, credentials: { client: registered, tokens } }) => {
      const { clientId, expiresAt } = tokens!;
      const identity = [registered, client].find((each) => each?.clientId === clientId) ?? { clientId };
      const { issuer } = at;
      try {
        const revoked = await revokeTokens(at, tokens!, identity, options);
        return { issuer, error: undefined, accessTokenLasts: !revoked, expiresAt };
      } catch (error) {
        return { issuer, error: error as Error, accessTokenLasts: true, expiresAt };
      }
    }),
  );
}

/** The server of the keys in a store: its address without a fragment. */
export function serverKey(server: string | URL): string {
  const key = new URL(server);
  key.hash = '';
  return key.href;
}
