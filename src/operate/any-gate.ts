import type { AuthInfo } from '../protocol/types.ts';
import type { HttpCall } from '../transport/http/call.ts';
import type { Gate, Refusal } from '../transport/http/gate.ts';

/**
 * One gate of several: lets in whom any of them lets in, asked in turn, and has the last of them refuse, so the last
 * should be the one that says where to get a credential; of a credential in a header of its own, the gate that looks there
 * says what is wrong with it. What a gate lets in, it alone authorizes.
 *
 * @throws TypeError where none is given.
 */
export function anyGate(...gates: readonly Gate[]): Gate {
  const last = gates.at(-1);
  if (!last) throw new TypeError('Give at least one gate');
  if (gates.length === 1) return last;
  const admittedBy = new WeakMap<AuthInfo, Gate>();
  return {
    credentials: new Set(gates.flatMap(({ credentials = [] }) => [...credentials])),
    authenticate: async (call: HttpCall): Promise<AuthInfo | Refusal> => {
      let refusal: Refusal | undefined;
      /** Of a gate that was shown a credential where the last need not look. */
      let judged: Refusal | undefined;
      for (const gate of gates) {
        // One after the other: who shows an API key should not cost a look at an issuer.
        const outcome = await gate.authenticate(call);
        if ('principal' in outcome) {
          admittedBy.set(outcome, gate);
          return outcome;
        }
        // A credential that is good and does not suffice is told what it lacks.
        if (refusal?.status !== 403) refusal = outcome;
        if (showsOwn(call, gate)) judged = outcome;
      }
      return judged && refusal!.status === 401 ? { ...refusal!, message: judged.message } : refusal!;
    },
    authorize: (auth, request, scopes) => (admittedBy.get(auth) ?? last).authorize(auth, request, scopes),
    documents: (call) => {
      for (const gate of gates) {
        const document = gate.documents(call);
        if (document) return document;
      }
      return undefined;
    },
  };
}

/** Whether the credential of a call is in a header of the gate's own. */
function showsOwn(call: HttpCall, { credentials }: Gate): boolean {
  if (call.header('authorization') !== undefined) return false;
  return [...(credentials ?? [])].some((name) => call.header(name) !== undefined);
}
