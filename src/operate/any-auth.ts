import type { AuthInfo } from '../protocol/types.ts';
import type { HttpCall } from '../transport/http/server/call.ts';
import type { Authenticator, AuthRefusal } from '../transport/http/server/access/authenticator.ts';

/**
 * Accepts the credentials of any of several authenticators. They are tried in order. If all refuse, the caller gets the
 * last refusal. So put the authenticator that tells clients where to get a credential at the end. If a credential is in
 * an authenticator's own header, only that authenticator's refusal counts. Only the authenticator that accepted a
 * caller authorizes its requests.
 *
 * @throws TypeError if no authenticator is given.
 */
export function anyAuth(...authenticators: readonly Authenticator[]): Authenticator {
  const last = authenticators.at(-1);
  if (!last) throw new TypeError('Pass at least one authenticator');
  if (authenticators.length === 1) return last;
  const admittedBy = new WeakMap<AuthInfo, Authenticator>();
  return {
    credentialHeaders: new Set(authenticators.flatMap(({ credentialHeaders = [] }) => [...credentialHeaders])),
    authenticate: async (call: HttpCall): Promise<AuthInfo | AuthRefusal> => {
      let refusal: AuthRefusal | undefined;
      /** The refusal of an authenticator whose own header was sent. */
      let ownRefusal: AuthRefusal | undefined;
      for (const authenticator of authenticators) {
        // One after the other: a caller with an API key must not cause a request to an issuer.
        const outcome = await authenticator.authenticate(call);
        if ('principal' in outcome) {
          admittedBy.set(outcome, authenticator);
          return outcome;
        }
        // If a valid credential does not suffice, report what it lacks.
        if (refusal?.status !== 403) refusal = outcome;
        if (showsOwn(call, authenticator)) ownRefusal = outcome;
      }
      return ownRefusal && refusal!.status === 401 ? { ...refusal!, message: ownRefusal.message } : refusal!;
    },
    authorize: (auth, request, scopes) => (admittedBy.get(auth) ?? last).authorize(auth, request, scopes),
    metadata: (call) => {
      for (const authenticator of authenticators) {
        const document = authenticator.metadata(call);
        if (document) return document;
      }
      return undefined;
    },
  };
}

/** Whether the credential of a call is in a header of the authenticator's own. */
function showsOwn(call: HttpCall, { credentialHeaders }: Authenticator): boolean {
  if (call.header('authorization') !== undefined) return false;
  return [...(credentialHeaders ?? [])].some((name) => call.header(name) !== undefined);
}
