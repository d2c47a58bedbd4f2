/** From what the scopes of an authorization request are chosen. */
export interface ScopeSources {
  /** Those that the application wants in any case. */
  readonly wanted: readonly string[];
  /** Those of the challenge; undefined where it names none. */
  readonly challenged: readonly string[] | undefined;
  /** Those of the resource's metadata; undefined where it names none. */
  readonly supported: readonly string[] | undefined;
  /** Those that were asked for before. */
  readonly former: readonly string[];
  /** Those of the authorization server's metadata. */
  readonly offered: readonly string[] | undefined;
  /** Whether tokens that outlast the user's presence are wanted. */
  readonly offline: boolean;
}

/**
 * The scopes to ask for: those of the challenge, else all of the resource's metadata, else none, so that the authorization
 * server decides; never less than before (2026-07-28, basic/authorization: Scope Selection Strategy and Step-Up
 * Authorization Flow). `offline_access` is asked for where the authorization server knows it (Refresh Tokens).
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
  return [...scopes];
}

/** The scopes of a challenge; undefined where it names none. */
export function scopesIn(parameter: string | undefined): readonly string[] | undefined {
  const scopes = parameter?.split(' ').filter((scope) => scope !== '');
  return scopes && scopes.length > 0 ? scopes : undefined;
}

export function covers(scopes: readonly string[], needed: readonly string[] | undefined): boolean {
  return needed === undefined || needed.every((scope) => scopes.includes(scope));
}
