import type { GuardedHttpOptions } from './guarded-http.ts';
import type { AssertionSource } from './id-jag.ts';
import type { RegistrationOptions } from './registration.ts';
import type { TokenStore } from './token-store.ts';
import type { RedirectHandler } from './redirect.ts';

/** How tokens are obtained. Give exactly one of these. */
export interface GrantOptions {
  /** Tokens for a user, who logs in at the authorization server: `loopbackRedirect` or `customRedirect`. */
  readonly redirect?: RedirectHandler | undefined;
  /**
   * Tokens for the application itself; requires `client` (the extension
   * `io.modelcontextprotocol/oauth-client-credentials`). Default false.
   */
  readonly clientCredentials?: boolean | undefined;
  /**
   * Tokens for the subject of an assertion: `idJag` for a user of an organization, or a function that returns the JWT of
   * a workload.
   */
  readonly assertion?: AssertionSource | undefined;
}

export interface OAuthOptions extends GrantOptions, RegistrationOptions, Omit<GuardedHttpOptions, 'server'> {
  /** The endpoint of the server. Tokens are sent only to its origin. Default: the URL of the first request. */
  readonly server?: string | URL | undefined;
  /** Where credentials are kept. Default: in memory. */
  readonly store?: TokenStore | undefined;
  /** Scopes to always request, instead of all scopes in the server's metadata. Default none. */
  readonly scopes?: readonly string[] | undefined;
  /** Request `offline_access` for user logins if the authorization server supports it. Default true. */
  readonly offline?: boolean | undefined;
  /** Chooses among several authorization servers. Default: one with stored credentials, else the first. */
  readonly chooseIssuer?: ((issuers: readonly string[]) => string | Promise<string>) | undefined;
  /** Bind tokens to a key (RFC 9449): always, never, or if the server requires it. Default `'auto'`. */
  readonly dpop?: boolean | 'auto' | undefined;
  /**
   * Treat a server without protected-resource metadata as a 2025-03-26 server, which issues tokens at its own origin.
   * Default true.
   */
  readonly legacy?: boolean | undefined;
  /** Maximum number of step-ups for the same set of challenged scopes. Default 2. */
  readonly maxStepUps?: number | undefined;
}
