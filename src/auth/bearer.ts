import type { AuthInfo } from '../protocol/types.ts';
import type { HttpCall } from '../transport/http/server/call.ts';
import type { Authenticator, AuthRefusal } from '../transport/http/server/access/authenticator.ts';
import { bearerCredential, MALFORMED } from './credential.ts';
import { checkClockTolerance, jwtVerifier, type JwtIssuer } from './jwt.ts';
import { ProtectedResource, type ResourceOptions } from './protected-resource.ts';
import { withoutSecret } from './redact.ts';
import { scrubber } from './scrub.ts';
import { Scopes, suffices, type ScopeOptions } from './scopes.ts';
import { checkAuthInfo, InvalidToken, type TokenVerifier } from './token-verifier.ts';

/** Checks tokens with your own function: opaque tokens, or those of several issuers. */
export interface VerifiedBy {
  readonly verify: TokenVerifier;
  /** Issuers from which clients can get a token, at least one. */
  readonly authorizationServers: readonly string[];
  /** Seconds by which clocks may differ when the expiry of a token is checked, at most 300. Default 5. */
  readonly clockTolerance?: number | undefined;
}

/** Checks tokens that are JWTs of one issuer. */
export interface IssuedBy extends JwtIssuer {
  readonly verify?: undefined;
  /** Default: the issuer. */
  readonly authorizationServers?: readonly string[] | undefined;
  /** The accepted audiences: a token's `aud` must contain one of these. Default: `resource`. */
  readonly audience?: string | readonly string[] | undefined;
}

/** The protected resource, the scopes that it requires, and how its tokens are checked. */
export type BearerAuthOptions = ResourceOptions & ScopeOptions & (VerifiedBy | IssuedBy);

/**
 * Accepts callers that send an access token for this server. Tells other callers where to get one (2025-06-18 to
 * 2026-07-28, basic/authorization; RFC 6750; RFC 9728).
 *
 * A token is read from the `Authorization` header only. A call without a valid token gets 401, a call with several
 * tokens 400. If the token lacks a required scope, the call gets 403, with all required scopes. If a token cannot be
 * checked now, the call gets 503. The metadata of the resource is served at both well-known paths.
 *
 * @throws TypeError or RangeError for options that cannot work.
 */
export function bearerAuth(options: BearerAuthOptions): Authenticator {
  return new BearerAuthenticator(options);
}

class BearerAuthenticator implements Authenticator {
  readonly #resource: ProtectedResource;
  readonly #scopes: Scopes;
  readonly #verify: TokenVerifier;
  /** Removes a token from the message of an `InvalidToken`. Takes milliseconds for a long token. */
  readonly #scrubbed: (message: string, token: string) => string;
  readonly #clockTolerance: number;
  /** The error to report for each thrown error. Calls that fail with the same error report the same error. */
  readonly #failures = new WeakMap<object, Error>();

  constructor(options: BearerAuthOptions) {
    if (!options.verify && !options.issuer) throw new TypeError('Set exactly one of issuer and verify');
    const servers = options.verify ? options.authorizationServers : (options.authorizationServers ?? [options.issuer]);
    this.#scopes = new Scopes(options);
    this.#resource = new ProtectedResource(options, servers, this.#scopes.base);
    this.#verify =
      options.verify ?? jwtVerifier({ ...options, audience: options.audience ?? audienceOf(options.resource) });
    // The messages of our own verifier contain no token.
    this.#scrubbed = options.verify ? (message, token) => scrubber([token])(message) : (message) => message;
    this.#clockTolerance = options.clockTolerance ?? 5;
    checkClockTolerance(this.#clockTolerance);
  }

  authenticate(call: HttpCall): AuthRefusal | Promise<AuthInfo | AuthRefusal> {
    const header = call.header('authorization');
    const token = bearerCredential(header);
    if (token === undefined) return this.#resource.unauthorized(header);
    if (token === MALFORMED) return this.#resource.invalidRequest();
    return this.#check(token, call);
  }

  async #check(token: string, call: HttpCall): Promise<AuthInfo | AuthRefusal> {
    let auth: AuthInfo | undefined;
    try {
      auth = await this.#verify(token, call);
      if (!auth) throw new InvalidToken('The access token is not valid');
      const { expiresAt = Infinity } = checkAuthInfo(auth);
      if (expiresAt + this.#clockTolerance <= Date.now() / 1000) throw new InvalidToken('The access token has expired');
    } catch (error) {
      if (error instanceof InvalidToken) return this.#resource.invalidToken(this.#scrubbed(error.message, token));
      throw this.#failure(error, token);
    }
    const expanded = this.#scopes.expand(auth);
    return this.authorize(expanded, undefined, []) ?? expanded;
  }

  #failure(thrown: unknown, token: string): Error {
    if (!(thrown instanceof Error)) return withoutSecret(thrown, token);
    let failure = this.#failures.get(thrown);
    if (!failure) {
      failure = withoutSecret(thrown, token);
      this.#failures.set(thrown, failure);
    }
    return failure;
  }

  authorize(auth: AuthInfo, _request: unknown, scopes: readonly string[]): AuthRefusal | undefined {
    const needed = this.#scopes.of(scopes);
    return suffices(auth, needed) ? undefined : this.#resource.insufficientScope(needed);
  }

  metadata(call: HttpCall): ReturnType<Authenticator['metadata']> {
    return this.#resource.document(call.originalPath ?? call.path);
  }
}

/**
 * For a resource without a path, clients may send its URL with or without the trailing slash (2026-07-28,
 * basic/authorization: Canonical Server URI).
 */
function audienceOf(resource: string): readonly string[] {
  const { origin, pathname } = new URL(resource);
  return pathname === '/' ? [...new Set([resource, origin, `${origin}/`])] : [resource];
}
