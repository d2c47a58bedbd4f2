import type { JsonObject, Request } from '../../jsonrpc/message.ts';
import type { AuthInfo } from '../../protocol/types.ts';
import type { HttpCall, HttpHeaders } from './call.ts';

/** Why a call is not let in: 401 without a valid credential, 403 with one that does not suffice. */
export interface Refusal {
  readonly status: 400 | 401 | 403;
  /** For people. Goes into the body, so it must not hold the credential. */
  readonly message: string;
  /** `WWW-Authenticate` among them. */
  readonly headers: HttpHeaders;
}

/**
 * Stands before the endpoints of a handler and lets in who shows a credential (2026-07-28, basic/authorization). One gate
 * may stand before any number of handlers. `bearerAuth` and `apiKeyAuth` of `everwire/auth` make one.
 */
export interface Gate {
  /**
   * Who is calling, or why they are not let in. Asked once for each call to an endpoint, before its body is read. Rejects,
   * or throws, where that cannot be found out now: the call is answered with 503, and the error is reported, so it must not
   * hold the credential. One error object is reported once, however many calls fail with it.
   */
  authenticate(call: HttpCall): AuthInfo | Refusal | Promise<AuthInfo | Refusal>;
  /**
   * Why a caller who was let in may not make a request; undefined where they may. Asked for each request before any of its
   * body is dispatched. Of a batch that is refused it is asked once more, with the scopes of all its requests, so that the
   * caller learns of them in one go.
   *
   * @param scopes that the request needs, by `scopesFor` of the handler.
   */
  authorize(auth: AuthInfo, request: Request, scopes: readonly string[]): Refusal | undefined;
  /** A JSON document at the path of this call that anyone may read: the protected-resource metadata (RFC 9728). */
  documents(call: HttpCall): JsonObject | undefined;
  /** Headers that carry credentials beside `Authorization`, in lower case: pages may send them, and no service sees them. */
  readonly credentials?: ReadonlySet<string> | undefined;
}
