import type { AuthInfo } from '../protocol/types.ts';

/** What callers must have been granted. */
export interface ScopeOptions {
  /**
   * What every request needs, whatever it is. Clients are told to ask for these first (2026-07-28, basic/authorization:
   * Scope Selection Strategy). Default none.
   */
  readonly scopes?: readonly string[];
  /**
   * What a broader scope holds beside itself: `{ admin: ['files:write'], 'files:write': ['files:read'] }` (2026-07-28,
   * basic/authorization: Step-Up Authorization Flow). Whoever was granted the one is taken to have been granted the others.
   * Default: a scope is only itself.
   */
  readonly implies?: Readonly<Record<string, readonly string[]>>;
}

/** What requests need, and what was granted. */
export class Scopes {
  /** What every request needs. */
  readonly base: readonly string[];
  /** What each scope holds beside itself, and what these hold. */
  readonly #implied: ReadonlyMap<string, readonly string[]>;

  /** @throws TypeError for what is no scope, or must not be asked for. */
  constructor({ scopes = [], implies = {} }: ScopeOptions) {
    checkScopes(scopes);
    for (const narrower of Object.values(implies)) checkScopes(narrower);
    const table = new Map(Object.entries(implies));
    this.base = scopes;
    this.#implied = new Map([...table.keys()].map((scope) => [scope, closure(scope, table)]));
  }

  /** A caller with all that their scopes imply. */
  expand(auth: AuthInfo): AuthInfo {
    if (!auth.scopes.some((scope) => this.#implied.has(scope))) return auth;
    const scopes = auth.scopes.flatMap((scope) => this.#implied.get(scope) ?? scope);
    return { ...auth, scopes: [...new Set(scopes)] };
  }

  /** All that a request needs: what every one does, and what it does beside that. */
  of(needed: readonly string[]): readonly string[] {
    return needed.length === 0 ? this.base : [...new Set([...this.base, ...needed])];
  }
}

/** Whether a caller has all of these scopes. */
export function suffices(auth: AuthInfo, needed: readonly string[]): boolean {
  return needed.every((scope) => auth.scopes.includes(scope));
}

/** A scope and all that follows from it. A set is walked to its end also where it grows meanwhile. */
function closure(scope: string, table: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const found = new Set([scope]);
  for (const each of found) for (const next of table.get(each) ?? []) found.add(next);
  return [...found];
}

/** @throws TypeError */
export function checkScopes(scopes: readonly string[]): void {
  for (const scope of scopes) {
    // RFC 6749, section 3.3.
    if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) throw new TypeError(`Not a scope: ${JSON.stringify(scope)}`);
    // 2026-07-28, basic/authorization: Refresh Tokens.
    if (scope === 'offline_access') throw new TypeError('offline_access is no scope of a resource: do not ask for it');
  }
}
