import type { Authorizer, RefusedRequest, RefusedResponse } from './authorizer.ts';
import { isInsufficientScope, parameterIn, parseChallenges } from './www-authenticate.ts';

/**
 * The most times that one request is repeated with another credential. Authorizers have limits of their own, with
 * better error messages.
 */
const MAX_RETRIES = 20;

/** The refusals of one request. */
export class Refusals {
  readonly #authorizer: Authorizer;
  #retries = 0;
  /** The scopes that a 403 response demanded, in alphabetical order. */
  #demanded: string | undefined;

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer;
  }

  /**
   * Hands a refusal to the authorizer, if another credential can help. Resolves with whether to send the request again.
   *
   * @throws errors of the authorizer.
   */
  async retry(request: RefusedRequest, response: RefusedResponse, signal?: AbortSignal): Promise<boolean> {
    if (response.status === 403) {
      const challenges = parseChallenges(response.header('www-authenticate'));
      if (!isInsufficientScope(challenges)) return false;
      const scopes = parameterIn(challenges, 'scope')?.split(' ').toSorted().join(' ');
      this.#demanded ??= scopes;
      // Otherwise a hostile server could make a user log in again and again.
      if (scopes !== undefined && scopes !== this.#demanded) return false;
    } else if (response.status !== 401) return false;
    if (this.#retries === MAX_RETRIES) return false;
    this.#retries += 1;
    return this.#authorizer.refused(request, response, signal);
  }
}
