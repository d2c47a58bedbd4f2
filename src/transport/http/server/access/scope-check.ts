import { errorResponse, isObject, isRequest, type Message, type Request } from '../../../../jsonrpc/message.ts';
import { checkMessage } from '../../../../jsonrpc/parse.ts';
import type { AuthInfo } from '../../../../protocol/types.ts';
import type { HttpCall } from '../call.ts';
import { insufficientScope } from './challenge.ts';
import type { Authenticator, AuthRefusal } from './authenticator.ts';
import { JSON_HEADERS, REFUSED, forbid } from './refusals.ts';

/** The scopes that a request needs. The caller must have all of them. Empty if every caller may make it. */
export type ScopesFor = (request: Request) => readonly string[];

const NO_SCOPES: readonly string[] = [];

/**
 * Decides whether the requests in a body may be dispatched. If the caller may not make one of them, the whole body is
 * refused. Nothing then runs twice when the client repeats the body with a better credential.
 */
export class ScopeCheck {
  readonly #authenticator: Authenticator | undefined;
  readonly #scopesFor: ScopesFor;

  /**
   * @param authenticator undefined if something in front of the handler authenticates. Scopes are then compared as
   * plain strings.
   */
  constructor(authenticator: Authenticator | undefined, scopesFor: ScopesFor = () => NO_SCOPES) {
    this.#authenticator = authenticator;
    this.#scopesFor = scopesFor;
  }

  /**
   * Whether a body may be dispatched. If not, the call has been answered. Values that are not requests pass, and are
   * checked later.
   *
   * @param value the parsed body.
   * @throws what `scopesFor` and the authenticator throw. Nothing is dispatched then.
   */
  admits(call: HttpCall, value: unknown): boolean {
    const { auth } = call;
    if (!auth) return true;
    if (Array.isArray(value)) return this.#admitsBatch(call, auth, value);
    const request = requestIn(value);
    const refusal = request && this.#refusal(auth, request, this.#scopesFor(request));
    if (refusal) forbid(call, refusal, request.id);
    return !refusal;
  }

  #admitsBatch(call: HttpCall, auth: AuthInfo, elements: readonly unknown[]): boolean {
    const requests = elements.map(requestIn).filter((request) => request !== undefined);
    const needed = requests.map((request) => this.#scopesFor(request));
    const refusals = requests.map((request, index) => this.#refusal(auth, request, needed[index]!));
    const first = refusals.findIndex((refusal) => refusal !== undefined);
    if (first < 0) return true;
    const refusal = this.#refusal(auth, requests[first]!, [...new Set(needed.flat())]) ?? refusals[first]!;
    const errors = requests.map(({ id }, index) => {
      const message = refusals[index]?.message ?? 'Not done, for another request of this batch is refused';
      return errorResponse(id, { code: REFUSED, message });
    });
    call.refused('scope', refusal.status);
    call.respond(refusal.status, { ...JSON_HEADERS, ...refusal.headers }, JSON.stringify(errors));
    return false;
  }

  #refusal(auth: AuthInfo, request: Request, scopes: readonly string[]): AuthRefusal | undefined {
    if (this.#authenticator) return this.#authenticator.authorize(auth, request, scopes);
    return scopes.every((scope) => auth.scopes.includes(scope)) ? undefined : insufficientScope(scopes);
  }
}

/** The request that a value would be dispatched as. Undefined if there is none. */
function requestIn(value: unknown): Request | undefined {
  if (!isObject(value)) return undefined;
  let message: Message;
  try {
    message = checkMessage(value);
  } catch {
    // Later code refuses it with a clearer error.
    return undefined;
  }
  return isRequest(message) ? message : undefined;
}
