import type { RequestOutcome } from '../../src/inspect/page-server/page-api.ts';
import { ErrorCode } from '../../src/jsonrpc/errors.ts';
import type { Session } from '../explore/explorer.ts';
import type { Outcome, Sent } from '../explore/request.ts';
import { taskOf } from '../explore/task.ts';
import type { Answer, ServerRequest } from './app-host.ts';

/** The largest answer that an app gets. Bytes. */
const MAX_ANSWER = 16 * 1024 * 1024;

/** What an app gets for the outcome of a request. */
export function serverRequest(session: Session, sent: Sent): ServerRequest {
  const answered = sent.settled.then((outcome) => finalOutcome(session, outcome)).then(answerOf);
  return { answered, cancel: () => sent.cancel() };
}

/** The outcome of a call. If the server made it a task, the outcome of the task. */
export async function finalOutcome(session: Session, outcome: Outcome): Promise<Outcome> {
  const task = outcome.kind === 'result' && taskOf(outcome.result) ? session.task(outcome.result) : undefined;
  if (!task) return outcome;
  return new Promise((resolve) => {
    const stop = task.view.subscribe(({ outcome: ended, lost, status }) => {
      const final =
        ended ??
        (lost !== undefined || status === 'cancelled' || status === 'failed'
          ? { kind: 'refused', message: lost ?? `The task is ${status}.` }
          : undefined);
      if (!final) return;
      // The first call comes before there is a function to stop it.
      queueMicrotask(() => stop());
      resolve(final);
    });
  });
}

/** An outcome as a JSON-RPC answer. */
export async function answerOf(outcome: Outcome): Promise<Answer> {
  if (outcome.kind === 'result') return { result: outcome.result };
  if (outcome.kind === 'refused' || outcome.kind === 'lost') return refusal(outcome.message);
  if (outcome.kind === 'error') {
    const { code = ErrorCode.InternalError, message, data } = outcome.error;
    return { error: { code, message, data } };
  }
  if (outcome.whole.size > MAX_ANSWER) return refusal(`The answer has more than ${MAX_ANSWER / 1024 ** 2} MiB.`);
  const { result, error, duration } = JSON.parse(await outcome.whole.text()) as RequestOutcome;
  return answerOf(error ? { kind: 'error', error, duration } : { kind: 'result', result: result ?? {}, duration });
}

function refusal(message: string): Answer {
  return { error: { code: ErrorCode.InternalError, message } };
}
