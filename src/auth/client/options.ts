import type { GuardedHttpOptions } from './guarded-http.ts';
import type { AssertionSource } from './id-jag.ts';
import type { RegistrationOptions } from './registration.ts';
import type { TokenStore } from './token-store.ts';
import type { RedirectHandler } from './redirect.ts';

/** Whose tokens they are. Give exactly one of these. */
export interface GrantOptions {
  /** The user's, who logs in at the authorization server: `loopbackRedirect` or `customRedirect`. */
  readonly redirect?: RedirectHandler | undefined;
  /**
   * The application's own, with `client` (the extension `io.modelcontextprotocol/oauth-client-credentials`). Default false.
   */
  readonly clientCredentials?: boolean | undefined;
  /**
   * Whoever an assertion speaks of: `idJag` for the user of an organization, or a function that gives the JWT of a workload.
   */
  readonly assertion?: AssertionSource | undefined;
}

export interface OAuthOptions extends GrantOptions, RegistrationOptions, Omit<GuardedHttpOptions, 'server'> {
  /** The endpoint of the server. Tokens go to its origin and nowhere else. Default: the address of the first request. */
  readonly server?: string | URL | undefined;
  /** Where credentials are kept. Default: in memory. */
  readonly store?: TokenStore | undefined;
  /** Scopes to ask for in any case, in place of all that the metadata of the server names. Default none. */
  readonly scopes?: readonly string[] | undefined;
  /** Ask for `offline_access` where the authorization server knows it, and the user is asked. Default true. */
  readonly offline?: boolean | undefined;
  /** Chooses among several authorization servers. Default: one for which something is kept, else the first. */
  readonly chooseIssuer?: ((issuers: readonly string[]) => string | Promise<string>) | undefined;
  /**
   * Bind tokens to a key (RFC 9449): always, never, or where the server demands it. Default `'auto'`.
   */
  readonly dpop?: boolean | 'auto' | undefined;
  /** Take a server without protected-resource metadata for one of 2025-03-26, whose origin issues tokens. Default true. */
  readonly legacy?: boolean | undefined;
  /** How often more scopes are asked for on behalf of the same scopes of a challenge. Default 2. */
  readonly maxStepUps?: number | undefined;
}
