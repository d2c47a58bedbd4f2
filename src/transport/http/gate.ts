import type { JsonObject, Request } from '../../jsonrpc/message.ts';
import type { AuthInfo } from '../../protocol/types.ts';
import type { HttpCall, HttpHeaders } from './call.ts';

/** Why a call is not let in: 401 without a valid credential, 403 with one that does not suffice. */
export interface Refusal {
  readonly status: 400 | 401 | 403;
  readonly message: string;
  /** `WWW-Authenticate` among them. */
  readonly headers: HttpHeaders;
}

/** Stands before the endpoints of a handler and lets in who shows a credential (2026-07-28, basic/authorization). */
export interface Gate {
  /** Who is calling, or why they are not let in. Rejects, or throws, where that cannot be found out: status 500. */
  authenticate(call: HttpCall): AuthInfo | Refusal | Promise<AuthInfo | Refusal>;
  /**
   * Why a request is refused to a caller who was let in, for want of scopes; undefined where it is not.
   *
   * @param scopes that the request needs.
   */
  authorize(auth: AuthInfo, request: Request, scopes: readonly string[]): Refusal | undefined;
  /** JSON documents that anyone may read with GET, by path: the protected-resource metadata (RFC 9728). */
  documents(call: HttpCall): JsonObject | undefined;
}
