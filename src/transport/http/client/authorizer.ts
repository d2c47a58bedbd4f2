import type { HttpReply, HttpRequest } from './http.ts';

/** Gives requests their credentials, and gets new ones where a server refuses them. */
export interface Authorizer {
  /**
   * When a person was busy with a login last, as `Date.now()` has it; Infinity while one is. Limits of time stand still
   * meanwhile. Default: no person is ever asked.
   */
  readonly attendedUntil?: number | undefined;
  /** The headers that go with a request: `authorization`, and with DPoP `dpop`. May wait for a token to be refreshed. */
  headers(
    request: Pick<HttpRequest, 'method' | 'url'>,
    signal?: AbortSignal,
  ): Promise<Readonly<Record<string, string>>>;
  /**
   * A server has refused a request with 401, or with 403 for want of scopes. Resolves with whether it is worth sending
   * again; concurrent refusals of one credential are one question.
   *
   * @throws Error that says why no credential can be had.
   */
  refused(
    request: Pick<HttpRequest, 'method' | 'url' | 'headers'>,
    reply: Pick<HttpReply, 'status' | 'header'>,
    signal?: AbortSignal,
  ): Promise<boolean>;
}
