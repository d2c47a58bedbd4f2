import { isPrincipal } from '../../../../base/principal.ts';
import { isObject, type JsonObject, type Request } from '../../../../jsonrpc/message.ts';
import type { AuthInfo } from '../../../../protocol/types.ts';
import type { HttpCall, HttpHeaders } from '../call.ts';

/** Why a call is refused. 401: no valid credential; 403: the credential does not suffice; 400: the request for access is malformed. */
export interface AuthRefusal {
  readonly status: 400 | 401 | 403;
  /** For people. It is sent in the body, so it must not contain the credential. */
  readonly message: string;
  /** Includes `WWW-Authenticate`. */
  readonly headers: HttpHeaders;
  /** The scopes that the call needs, if it lacks some of them. For `onrefusal`. */
  readonly scopes?: readonly string[] | undefined;
}

/**
 * Checks the credentials of HTTP requests (2026-07-28, basic/authorization): the option `auth` of a handler. `bearerAuth`
 * and `apiKeyAuth` of `everwire/auth` make one. One authenticator may serve any number of handlers.
 */
export interface Authenticator {
  /**
   * Returns who is calling, or why the call is refused. Called once for each call to an endpoint, before its body is
   * read. If it rejects, throws, or returns anything else, the call is answered with 503 and the error is reported, so the
   * error must not contain the credential. One error object is reported once, even if many calls fail with it.
   */
  authenticate(call: HttpCall): AuthInfo | AuthRefusal | Promise<AuthInfo | AuthRefusal>;
  /**
   * Why an authenticated caller may not make a request. Undefined if the request is allowed. Called for each request,
   * before any of its body is dispatched. For a refused batch it is called once more with the scopes of all its
   * requests, so that the caller learns all of them at once.
   *
   * @param scopes the scopes that the request needs, from `scopesFor` of the handler.
   */
  authorize(auth: AuthInfo, request: Request, scopes: readonly string[]): AuthRefusal | undefined;
  /**
   * The public JSON document at the path of this call: the protected-resource metadata (RFC 9728). Undefined if there
   * is none.
   */
  metadata(call: HttpCall): JsonObject | undefined;
  /**
   * Headers that carry credentials beside `Authorization`, in lower case. Pages of allowed origins may send them, and no
   * service sees them.
   */
  readonly credentialHeaders?: ReadonlySet<string> | undefined;
}

const STATUSES: ReadonlySet<unknown> = new Set([400, 401, 403]);

/**
 * Checks what an authenticator returned, because any other value would end the process or let the caller in.
 *
 * @throws TypeError
 */
export function checkOutcome<Outcome extends AuthInfo | AuthRefusal>(outcome: Outcome): Outcome {
  const { principal, scopes, status, message, headers }: JsonObject = isObject(outcome) ? outcome : {};
  if (isPrincipal(principal) && Array.isArray(scopes)) return outcome;
  if (principal !== undefined || !STATUSES.has(status) || typeof message !== 'string')
    throw new TypeError('The authenticator returned neither a principal with scopes nor a refusal with a status');
  // Throws if a header cannot be sent.
  void new Headers(headers as HttpHeaders);
  return outcome;
}
