import { OAuthError } from './oauth-error.ts';

/** The most characters in the scopes of a request. More do not fit into a URL. */
const MAX_SCOPES = 16_384;

/** The inputs for choosing the scopes of an authorization request. */
export interface ScopeSources {
  /** Scopes that the application always requests. */
  readonly wanted: readonly string[];
  /** Scopes in the challenge; undefined if it has none. */
  readonly challenged: readonly string[] | undefined;
  /** Scopes in the resource metadata; undefined if it has none. */
  readonly supported: readonly string[] | undefined;
  /** Scopes of earlier requests. */
  readonly former: readonly string[];
  /** Scopes in the authorization server metadata. */
  readonly offered: readonly string[] | undefined;
  /** Whether to request tokens that also work without the user present. */
  readonly offline: boolean;
}

/**
 * Chooses the scopes to request: those of the challenge, else all in the resource metadata, else none, so that the
 * authorization server decides. Earlier scopes are always included (2026-07-28, basic/authorization: Scope Selection
 * Strategy and Step-Up Authorization Flow). `offline_access` is added if the authorization server supports it (Refresh
 * Tokens).
 *
 * @throws OAuthError `insufficient_scope` if the scopes have more than 16,384 characters.
 */
export function selectScopes({
  wanted,
  challenged,
  supported,
  former,
  offered,
  offline,
}: ScopeSources): readonly string[] {
  const needed = challenged ?? (wanted.length > 0 || former.length > 0 ? [] : (supported ?? []));
  const scopes = new Set([...wanted, ...former, ...needed]);
  if (offline && offered?.includes('offline_access') === true) scopes.add('offline_access');
  const chosen = [...scopes];
  if (chosen.join(' ').length > MAX_SCOPES) {
    throw new OAuthError('insufficient_scope', `The server requires scopes of more than ${MAX_SCOPES} characters`);
  }
  return chosen;
}

/** The scopes of a challenge; undefined if it has none. */
export function scopesIn(parameter: string | undefined): readonly string[] | undefined {
  const scopes = parameter?.split(' ').filter((scope) => scope !== '');
  return scopes && scopes.length > 0 ? scopes : undefined;
}

export function covers(scopes: readonly string[], needed: readonly string[] | undefined): boolean {
  const given = new Set(scopes);
  return needed === undefined || needed.every((scope) => given.has(scope));
}
