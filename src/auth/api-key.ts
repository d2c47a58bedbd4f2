import { createHash, timingSafeEqual } from 'node:crypto';
import { isObject } from '../jsonrpc/message.ts';
import type { AuthInfo } from '../protocol/types.ts';
import type { HttpCall } from '../transport/http/server/call.ts';
import { bearerRefusal, insufficientScope } from '../transport/http/server/access/challenge.ts';
import type { Authenticator, AuthRefusal } from '../transport/http/server/access/authenticator.ts';
import { bearerCredential, MALFORMED, MAX_CREDENTIAL, missingCredential } from './credential.ts';
import { withoutSecret } from './redact.ts';
import { Scopes, suffices, type ScopeOptions } from './scopes.ts';
import { checkAuthInfo } from './token-verifier.ts';

/** Which keys are accepted, and in which header. */
export interface ApiKeyAuthOptions extends ScopeOptions {
  /** The accepted keys. Each maps to a principal without scopes, or to the full `AuthInfo` of the caller. */
  readonly keys?: Readonly<Record<string, string | AuthInfo>> | undefined;
  /**
   * Looks up the caller that a key belongs to. Use it instead of `keys`. Called for each HTTP request. Return undefined
   * if the key is not valid: the client gets status 401. Throw or reject if the key cannot be checked now: the client
   * gets status 503, and the error is reported without the key.
   */
  readonly verify?: (key: string, call: HttpCall) => AuthInfo | undefined | Promise<AuthInfo | undefined>;
  /** The header for keys, in addition to `Authorization: Bearer`; false for none. Default `x-api-key`. */
  readonly header?: string | false | undefined;
}

/** A key that can be sent in either header. */
const KEY = /^[\w.~+/-]+=*$/;

/**
 * Accepts callers that send a known key, as `Authorization: Bearer <key>` or `X-API-Key: <key>`. For deployments
 * without an authorization server. Keys are compared in constant time. Clients are not told where to get a key.
 *
 * @throws TypeError for options that cannot work. The error never contains a key.
 */
export function apiKeyAuth(options: ApiKeyAuthOptions): Authenticator {
  return new ApiKeyAuthenticator(options);
}

class ApiKeyAuthenticator implements Authenticator {
  readonly credentialHeaders: ReadonlySet<string> = new Set();
  /** API keys have no metadata document. */
  readonly metadata: Authenticator['metadata'] = () => undefined;
  readonly #header: string | undefined;
  readonly #scopes: Scopes;
  readonly #verify: NonNullable<ApiKeyAuthOptions['verify']>;

  constructor(options: ApiKeyAuthOptions) {
    const { keys, verify, header = 'x-api-key' } = options;
    if ((keys === undefined) === (verify === undefined)) throw new TypeError('Set exactly one of keys and verify');
    if (header !== false) {
      if (!/^[\w-]+$/.test(header)) throw new TypeError('header must be a valid header name');
      this.#header = header.toLowerCase();
      this.credentialHeaders = new Set([this.#header]);
    }
    this.#scopes = new Scopes(options);
    this.#verify = verify ?? knownKeys(keys!);
  }

  authenticate(call: HttpCall): AuthInfo | AuthRefusal | Promise<AuthInfo | AuthRefusal> {
    const header = call.header('authorization');
    const bearer = bearerCredential(header);
    const own = this.#header && call.header(this.#header);
    if (bearer === undefined && own === undefined) return this.#unauthorized(header);
    if (bearer === MALFORMED || (bearer !== undefined && own !== undefined && bearer !== own)) return invalidRequest();
    const key = bearer ?? own!;
    const shown = bearer === undefined ? 'API key' : 'bearer token';
    if (!KEY.test(key) || key.length > MAX_CREDENTIAL) return invalidRequest();
    try {
      const found = this.#verify(key, call);
      if (!(found && 'then' in found)) return this.#known(found, shown);
      return found
        .then((auth) => this.#known(auth, shown))
        .catch((error: unknown) => Promise.reject(withoutSecret(error, key)));
    } catch (error) {
      throw withoutSecret(error, key);
    }
  }

  /** @param shown the form in which the credential was sent. */
  #known(auth: AuthInfo | undefined, shown: string): AuthInfo | AuthRefusal {
    if (!auth) return invalid(shown);
    const { expiresAt = Infinity } = checkAuthInfo(auth);
    if (expiresAt <= Date.now() / 1000) return invalid(shown);
    const expanded = this.#scopes.expand(auth);
    return this.authorize(expanded, undefined, []) ?? expanded;
  }

  authorize(auth: AuthInfo, _request: unknown, scopes: readonly string[]): AuthRefusal | undefined {
    const needed = this.#scopes.of(scopes);
    return suffices(auth, needed) ? undefined : insufficientScope(needed);
  }

  #unauthorized(header: string | undefined): AuthRefusal {
    const needed = this.#header === undefined ? 'A bearer token' : 'An API key';
    return bearerRefusal(401, missingCredential(needed, header), { realm: 'mcp' });
  }
}

function knownKeys(keys: Readonly<Record<string, string | AuthInfo>>): (key: string) => AuthInfo | undefined {
  const known = Object.entries(keys).map(([key, owner]) => {
    if (!KEY.test(key) || key.length > MAX_CREDENTIAL) {
      throw new TypeError('A key must consist of letters, digits and -._~+/, with = only at the end');
    }
    const auth = typeof owner === 'string' ? { principal: owner, scopes: [] } : owner;
    if (!isObject(auth) || !auth.principal || !Array.isArray(auth.scopes)) {
      throw new TypeError("keys needs a principal for each key, or { principal: '…', scopes: ['…'] }");
    }
    return { digest: digestOf(key), auth };
  });
  return (key) => {
    const shown = digestOf(key);
    let found: AuthInfo | undefined;
    // Compare all keys, so that the time does not reveal which key matched.
    for (const { digest, auth } of known) if (timingSafeEqual(digest, shown)) found = auth;
    return found;
  };
}

/** Digests have the same length for all keys, as the comparison requires. */
function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function invalid(shown: string): AuthRefusal {
  return bearerRefusal(401, `The ${shown} is not valid`, { realm: 'mcp', error: 'invalid_token' });
}

function invalidRequest(): AuthRefusal {
  return bearerRefusal(400, 'The headers must contain exactly one API key', { realm: 'mcp', error: 'invalid_request' });
}
