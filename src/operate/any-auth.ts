import type { AuthInfo } from '../protocol/types.ts';
import type { HttpCall } from '../transport/http/call.ts';
import type { Authenticator, AuthRefusal } from '../transport/http/authenticator.ts';

/**
 * Accepts the credentials of any of several authenticators, which are tried in order. If all refuse, the caller gets the
 * refusal of the last one, so put the one last that says where to get a credential. A credential in a header of its own is
 * judged by the authenticator that reads that header. Only the authenticator that accepted a caller authorizes its requests.
 *
 * @throws TypeError if none is given.
 */
export function anyAuth(...authenticators: readonly Authenticator[]): Authenticator {
  const last = authenticators.at(-1);
  if (!last) throw new TypeError('Give at least one authenticator');
  if (authenticators.length === 1) return last;
  const admittedBy = new WeakMap<AuthInfo, Authenticator>();
  return {
    credentialHeaders: new Set(authenticators.flatMap(({ credentialHeaders = [] }) => [...credentialHeaders])),
    authenticate: async (call: HttpCall): Promise<AuthInfo | AuthRefusal> => {
      let refusal: AuthRefusal | undefined;
      /** Of an authenticator that was shown a credential where the last need not look. */
      let judged: AuthRefusal | undefined;
      for (const authenticator of authenticators) {
        // One after the other: who shows an API key should not cost a look at an issuer.
        const outcome = await authenticator.authenticate(call);
        if ('principal' in outcome) {
          admittedBy.set(outcome, authenticator);
          return outcome;
        }
        // A credential that is good and does not suffice is told what it lacks.
        if (refusal?.status !== 403) refusal = outcome;
        if (showsOwn(call, authenticator)) judged = outcome;
      }
      return judged && refusal!.status === 401 ? { ...refusal!, message: judged.message } : refusal!;
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
