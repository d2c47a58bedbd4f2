import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose';
import { printableMessage } from '../base/printable.ts';
import { isPrincipal } from '../base/principal.ts';
import { reportTo } from '../jsonrpc/stderr-report.ts';
import type { AuthInfo } from '../protocol/types.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { InvalidToken, type TokenVerifier } from './token-verifier.ts';
import { identifierUrl, secureUrl } from './urls.ts';

/**
 * These algorithms are asymmetric, so only the issuer can sign. With a shared secret, every verifier could forge
 * tokens.
 */
const ASYMMETRIC: ReadonlySet<string> = new Set(
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' '),
);

/** Who issues tokens, and how they are signed. */
export interface JwtIssuer {
  /** The issuer, exactly as in the `iss` claim of each token. Its metadata is found by this URL too. */
  readonly issuer: string;
  /**
   * URL of the issuer's keys, with https or on loopback. Default: the one in its metadata (RFC 8414, OpenID Connect
   * Discovery).
   */
  readonly jwksUri?: string | undefined;
  /** The keys themselves. If given, nothing is fetched. */
  readonly jwks?: JSONWebKeySet | undefined;
  /** Signature algorithms to accept, asymmetric ones only. Default: RS, PS, ES and EdDSA. */
  readonly algorithms?: readonly string[] | undefined;
  /**
   * Accept only tokens with the header type `at+jwt` (RFC 9068, section 4). Default false, because many issuers use
   * `JWT` or no type.
   */
  readonly requireType?: boolean | undefined;
  /** Seconds by which clocks may differ, at most 300. Default 5. */
  readonly clockTolerance?: number | undefined;
  /** Fetches metadata and keys. Default: the `fetch` of this runtime. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * Called for each failed fetch of keys while older keys stay in use (at most one hour). Default: writes the error to
   * stderr.
   */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** Who issues tokens, and for which server. */
export interface JwtVerifierOptions extends JwtIssuer {
  /** The accepted audiences: a token's `aud` must contain one of these. */
  readonly audience: string | readonly string[];
}

/**
 * Checks access tokens that are JWTs (RFC 9068). A token must be signed with a key of the issuer, be issued for the
 * audience, and have a subject and an expiry time. The principal is `<issuer>#<subject>`. Scopes come from `scope` or
 * `scp`, the client from `client_id` or `azp`. A token that is bound to a key (`cnf`) is refused, because the binding
 * cannot be checked here.
 *
 * @throws TypeError or RangeError for options that cannot work.
 */
export function jwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  const { issuer, audience, jwksUri, jwks, requireType = false, clockTolerance = 5 } = options;
  const { algorithms = [...ASYMMETRIC], fetch = globalThis.fetch, onerror = writeError } = options;
  identifierUrl(issuer, 'issuer');
  if (jwksUri !== undefined) secureUrl(jwksUri, 'jwksUri');
  if (audience.length === 0)
    throw new TypeError('audience must not be empty: give the audience that tokens are issued for');
  for (const algorithm of algorithms) {
    if (!ASYMMETRIC.has(algorithm)) throw new TypeError(`Not an asymmetric signature: ${algorithm}`);
  }
  checkClockTolerance(clockTolerance);
  const rules: JWTVerifyOptions = {
    issuer,
    audience: [audience].flat(),
    algorithms: [...algorithms],
    clockTolerance,
    requiredClaims: ['iss', 'aud', 'exp', 'sub'],
  };
  const remote = jwks ? undefined : new IssuerKeys({ issuer, jwksUri, fetch, onerror: reportTo(onerror) });
  let keys: JWTVerifyGetKey | undefined = remote?.get;
  return async (token) => {
    const { createLocalJWKSet } = await import('jose');
    keys ??= createLocalJWKSet(jwks!);
    return authInfoOf(await verified(token, keys, rules, requireType), issuer);
  };
}

/** The message may quote the issuer. */
function writeError({ message }: Error): void {
  console.error(printableMessage(message));
}

/** @throws RangeError */
export function checkClockTolerance(seconds: number): void {
  if (!(seconds >= 0 && seconds <= 300))
    throw new RangeError(`clockTolerance must be 0 to 300 seconds, not ${seconds}`);
}

async function verified(
  token: string,
  keys: JWTVerifyGetKey,
  rules: JWTVerifyOptions,
  requireType: boolean,
): Promise<JWTPayload> {
  const { jwtVerify, errors } = await import('jose');
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, rules).catch(async (error: unknown) => {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // The token does not say which key it was signed with.
      for await (const key of error) {
        const result = await jwtVerify(token, key, rules).catch((failure: unknown) => {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        });
        if (result) return result;
      }
      throw new errors.JWSSignatureVerificationFailed();
    });
    // The library checks no type unless it is told which one to expect.
    const { typ } = protectedHeader as { readonly typ?: unknown };
    const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;
    // Issuers also sign proofs, events and logout tokens, which have other types (RFC 8725, section 3.11).
    if (type !== 'at+jwt' && (requireType || (type !== undefined && type !== 'jwt'))) {
      throw new InvalidToken('The token is not an access token');
    }
    if (payload['cnf'] !== undefined)
      throw new InvalidToken('The access token is bound to a key, which is not supported');
    return payload;
  } catch (error) {
    if (error instanceof errors.JWKSInvalid) throw error;
    if (error instanceof errors.JWTExpired) throw new InvalidToken('The access token has expired');
    if (error instanceof errors.JWTClaimValidationFailed) throw new InvalidToken(whatIsWrong(error.claim));
    if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed)
      throw new InvalidToken('The access token is not signed with a key of the issuer');
    if (error instanceof errors.JOSEError) throw new InvalidToken('The access token is not valid');
    throw error;
  }
}

function whatIsWrong(claim: string): string {
  if (claim === 'aud') return 'The access token was not issued for this server';
  if (claim === 'iss') return 'The access token comes from another issuer';
  if (claim === 'nbf') return 'The access token is not valid yet';
  return `The access token has no valid ${claim}`;
}

function authInfoOf(claims: JWTPayload, issuer: string): AuthInfo {
  const { sub, exp, client_id: clientId, azp } = claims;
  if (!isPrincipal(sub)) throw new InvalidToken(whatIsWrong('sub'));
  const client = clientId ?? azp;
  return {
    principal: `${issuer}#${sub}`,
    scopes: scopesOf(claims['scope'] ?? claims['scp']),
    clientId: typeof client === 'string' ? client : undefined,
    expiresAt: exp,
    claims,
  };
}

/** A string in RFC 8693, section 4.2. Some issuers use a list. */
function scopesOf(claim: unknown): readonly string[] {
  if (typeof claim === 'string') return claim.split(' ').filter((scope) => scope !== '');
  return Array.isArray(claim) ? claim.filter((scope) => typeof scope === 'string') : [];
}
