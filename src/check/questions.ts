import type { Handlers } from '../client/handlers.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { Method } from '../protocol/methods.ts';

/** Answers to the questions of a server. */
export type GivenAnswers = Pick<Handlers, 'onelicit' | 'onsample' | 'onroots'>;

/** The code of the error for a request to a model that the user refuses (client/sampling: Error Handling). */
const REFUSED = -1;

/**
 * The handlers of a client that declares all kinds of questions. Those without a given answer are declined, and there are
 * no roots.
 *
 * @param declined gets the name of a kind of `--answers`, or `roots`, with each question that has no given answer.
 */
export function answering(
  { onelicit, onsample, onroots }: GivenAnswers,
  declined: (method: string, kind: string) => void,
): Required<GivenAnswers> {
  const given = typeof onelicit === 'function' ? { form: onelicit } : onelicit;
  const decline = (kind: string) => (): { action: 'decline' } => {
    declined(Method.Elicit, kind);
    return { action: 'decline' };
  };
  return {
    onelicit: { form: given?.form ?? decline('elicit'), url: given?.url ?? decline('elicitUrl') },
    onsample:
      onsample ??
      (() => {
        declined(Method.CreateMessage, 'sample');
        throw new RpcError(REFUSED, 'The user declined');
      }),
    onroots:
      onroots ??
      (() => {
        declined(Method.ListRoots, 'roots');
        return [];
      }),
  };
}
