import type { AuthInfo } from '../protocol/types.ts';

export interface ScopeOptions {
  /**
   * What every request needs, whatever it is. Clients are told to ask for these first (2026-07-28, basic/authorization:
   * Scope Selection Strategy). Default none.
   */
  readonly scopes?: readonly string[];
  /**
   * Whether a scope that was granted covers one that is needed, where a broader scope implies narrower ones (2026-07-28,
   * basic/authorization: Step-Up Authorization Flow). The same scope always does. Default: no other does.
   */
  readonly covers?: (granted: string, needed: string) => boolean;
}

/** Compares what is needed with what was granted. */
export class Scopes {
  /** What every request needs. */
  readonly base: readonly string[];
  readonly #covers: (granted: string, needed: string) => boolean;

  /** @throws TypeError for what is no scope, or must not be asked for. */
  constructor({ scopes = [], covers = () => false }: ScopeOptions) {
    checkScopes(scopes);
    this.base = scopes;
    this.#covers = covers;
  }

  /** Whether a caller has all of these scopes. */
  suffice(auth: AuthInfo, needed: readonly string[]): boolean {
    const has = (scope: string): boolean =>
      auth.scopes.includes(scope) || auth.scopes.some((granted) => this.#covers(granted, scope));
    return needed.every(has);
  }

  /** All that a request needs: what every one does, and what it does beside that. */
  of(needed: readonly string[]): readonly string[] {
    return needed.length === 0 ? this.base : [...new Set([...this.base, ...needed])];
  }
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
