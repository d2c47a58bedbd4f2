import { errorResponse, type Request } from '../../../../jsonrpc/message.ts';
import type { AuthInfo } from '../../../../protocol/types.ts';
import { Method } from '../../../../protocol/methods.ts';
import type { HttpCall } from '../call.ts';
import { insufficientScope } from './challenge.ts';
import { checkOutcome, type Authenticator, type AuthRefusal } from './authenticator.ts';
import { JSON_HEADERS, REFUSED, reported } from './refusal-format.ts';

/** The scopes that a request needs. The caller must have all of them. Empty if every caller may make it. */
export type ScopesFor = (request: Request) => readonly string[];

const NO_SCOPES: readonly string[] = [];

/**
 * Decides whether the requests in a body may be dispatched. If the caller may not make one of them, the whole body is
 * refused. So nothing runs twice when the client repeats the body with a better credential.
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
   * Whether the requests of a body may be dispatched. If not, the call has been answered.
   *
   * @param batch whether the body is a batch.
   * @throws what `scopesFor` and the authenticator throw. Nothing is dispatched then.
   */
  admits(call: HttpCall, requests: readonly Request[], batch = false): boolean {
    const { auth } = call;
    if (!auth) return true;
    const needed = requests.map((request) => this.#scopesFor(request));
    const refusals = requests.map((request, index) => this.#refusal(auth, request, needed[index]!));
    const first = refusals.findIndex((refusal) => refusal !== undefined);
    if (first < 0) return true;
    const all = batch ? this.#refusal(auth, requests[first]!, [...new Set(needed.flat())]) : undefined;
    const { status, headers, scopes = [] } = all ?? refusals[first]!;
    const errors = requests.map(({ id }, index) => {
      const message = refusals[index]?.message ?? 'Not executed, because another request of this batch was refused';
      return errorResponse(id, { code: REFUSED, message });
    });
    const { method, params } = requests[first]!;
    const name: unknown = method === Method.CallTool ? params?.['name'] : undefined;
    call.refused('scope', status, {
      method: reported(method),
      ...(typeof name === 'string' && { tool: reported(name) }),
      scopes: scopes.filter((scope) => !auth.scopes.includes(scope)),
    });
    call.respond(status, { ...JSON_HEADERS, ...headers }, JSON.stringify(batch ? errors : errors[0]));
    return false;
  }

  #refusal(auth: AuthInfo, request: Request, scopes: readonly string[]): AuthRefusal | undefined {
    const refusal = this.#authenticator?.authorize(auth, request, scopes);
    if (this.#authenticator) return refusal && checkOutcome(refusal);
    return scopes.every((scope) => auth.scopes.includes(scope)) ? undefined : insufficientScope(scopes);
  }
}
