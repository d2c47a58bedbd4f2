/** A request that needs a credential. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
}

/** A request that a server refused, with the headers that were sent; names in lower case. */
export interface RefusedRequest extends OutgoingRequest {
  readonly headers: Readonly<Record<string, string>>;
}

/** The response by which a server refused a request. */
export interface RefusedResponse {
  /** 401 or 403. */
  readonly status: number;
  /** A header of the response. Undefined if the response has no such header. @param name in lower case. */
  header(name: string): string | undefined;
}

/**
 * Adds credentials to requests, and gets new ones when a server refuses them. `oauth` of `everwire/auth` creates one.
 */
export interface Authorizer {
  /**
   * When a user login was last in progress, as a time of `Date.now()`; `Infinity` during a login. Time limits do not
   * count the time of a login. Default: there are no user logins.
   */
  readonly loginActiveUntil?: number | undefined;
  /**
   * The headers to send with a request: `authorization`, and with DPoP `dpop`. May wait for a token to be refreshed.
   */
  headers(request: OutgoingRequest, signal?: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /**
   * A server refused a request with 401, or with 403 because scopes are missing. Resolves with whether to send it
   * again. Concurrent refusals of one credential are handled once.
   *
   * @throws Error with the reason if there is no credential.
   */
  refused(request: RefusedRequest, response: RefusedResponse, signal?: AbortSignal): Promise<boolean>;
}
