import type { AuthInfo } from '../protocol/types.ts';

/** The scopes that callers need. */
export interface ScopeOptions {
  /**
   * Scopes that every request needs. Clients are told to ask for these first (2026-07-28, basic/authorization: Scope
   * Selection Strategy). Default none.
   */
  readonly scopes?: readonly string[] | undefined;
  /**
   * Scopes that a broader one includes: `{ admin: ['files:write'], 'files:write': ['files:read'] }` (2026-07-28,
   * basic/authorization: Step-Up Authorization Flow). Default: no scope includes another.
   */
  readonly implies?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** The scopes that requests require. A granted scope may include other scopes. */
export class Scopes {
  /** The scopes that every request needs. */
  readonly base: readonly string[];
  /** Each scope of `implies` with all scopes that it includes, itself too. */
  readonly #implied: ReadonlyMap<string, readonly string[]>;

  /** @throws TypeError for a scope that is malformed or must not be requested. */
  constructor({ scopes = [], implies = {} }: ScopeOptions) {
    checkScopes(scopes);
    for (const narrower of Object.values(implies)) checkScopes(narrower);
    const table = new Map(Object.entries(implies));
    this.base = scopes;
    this.#implied = new Map([...table.keys()].map((scope) => [scope, closure(scope, table)]));
  }

  /** The caller, with all scopes that the granted ones include. */
  expand(auth: AuthInfo): AuthInfo {
    if (!auth.scopes.some((scope) => this.#implied.has(scope))) return auth;
    const scopes = auth.scopes.flatMap((scope) => this.#implied.get(scope) ?? scope);
    return { ...auth, scopes: [...new Set(scopes)] };
  }

  /** All scopes that a request needs: those that every request needs, and its own. */
  of(needed: readonly string[]): readonly string[] {
    return [...new Set([...this.base, ...needed])];
  }
}

/** Whether a caller has all of these scopes. */
export function suffices(auth: AuthInfo, needed: readonly string[]): boolean {
  return needed.every((scope) => auth.scopes.includes(scope));
}

/** A scope and all scopes that it includes. The loop also visits the scopes that it adds to the set. */
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
    if (scope === 'offline_access') throw new TypeError('offline_access is not a scope of a resource: remove it');
  }
}
