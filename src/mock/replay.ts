import { Deferred } from '../base/deferred.ts';
import { pause } from '../base/wait.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import {
  isObject,
  isRequest,
  isResponse,
  type JsonObject,
  type Notification,
  type Request,
  type RequestId,
  type Response,
} from '../jsonrpc/message.ts';
import { inside, put } from '../jsonrpc/shape.ts';
import { Meta, NotificationMethod } from '../protocol/methods.ts';
import { MAX_TIMER } from '../base/timer.ts';
import { describeDifferences, differences } from './difference.ts';
import type { RecordedCall, RecordedStep } from './recorded-call.ts';

/** Where the messages of a call go. */
export interface Outlet {
  /** @param related whether the notification belongs to the stream of the request. */
  notify(message: Notification, related: boolean): Promise<void>;
  /** Asks the client. Absent in 2026-07-28, where a server sends no requests. */
  ask?(question: Request, related: boolean): Promise<Response>;
  /** The id under which the client knows a recorded question, once it was asked. */
  idOf?(recorded: RequestId): RequestId | undefined;
  /** Sends a notification of a subscription. @param listen the number of the recorded `subscriptions/listen`. */
  announce(notice: Notification, listen: number): Promise<void>;
  /** Answers the request. Absent for the steps after a notification. */
  answer?(response: Response): void;
}

export interface ReplayOptions {
  /** Whether to leave out the recorded times. */
  readonly fast: boolean;
  /** Whether the client may answer questions in another way than in the recording. */
  readonly lenient: boolean;
  /** Called if it does. */
  readonly onmiss: (error: RpcError) => void;
  /** Ends the replay. */
  readonly signal: AbortSignal;
}

/**
 * Sends what the recorded server sent after a message, in the same order and with the same times. A message that came
 * after the client's answer to a question waits for this answer.
 *
 * @param message what the client sent now. Its ids and tokens replace those of the recording.
 * @throws what the outlet throws.
 */
export async function replay(
  { message: recorded, steps }: RecordedCall,
  message: Request | Notification,
  outlet: Outlet,
  { fast, lenient, onmiss, signal }: ReplayOptions,
): Promise<void> {
  const names = new Names(recorded, message, outlet);
  /** Settle when the client has answered the questions, by the index of their step. */
  const answers: Promise<void>[] = [];
  try {
    for (const [index, step] of steps.entries()) {
      await Promise.all(step.waitsFor.map((each) => answers[each]!));
      if (!fast && step.delay >= 1) await pause(Math.min(step.delay, MAX_TIMER), signal);
      if (signal.aborted) return;
      const { message: next, related, subscription } = step;
      if (isResponse(next)) answer({ ...next });
      else if (isRequest(next)) answers[index] = ask(next, step);
      else if (subscription !== undefined) await outlet.announce(next, subscription);
      else {
        const renamed = names.rename(next);
        if (renamed) await outlet.notify(renamed, related);
      }
    }
  } catch (error) {
    if (!(error instanceof UnexpectedAnswer)) throw error;
    onmiss(error.error);
    answer({ jsonrpc: '2.0', error: error.error.toObject() });
  }

  function answer(response: Response): void {
    if (isRequest(message)) outlet.answer?.({ ...response, id: message.id });
  }

  function ask(question: Request, { related, answer: expected }: RecordedStep): Promise<void> {
    const answered = new Deferred();
    outlet.ask?.(question, related).then((given) => {
      const wrong = lenient || !expected ? undefined : unexpected(question.method, expected, given);
      if (wrong) answered.reject(new UnexpectedAnswer(wrong));
      else answered.resolve();
    }, answered.reject);
    return answered.promise;
  }
}

/** The client answered a question in another way than in the recording. */
class UnexpectedAnswer extends Error {
  readonly error: RpcError;

  constructor(error: RpcError) {
    super(error.message);
    this.error = error;
  }
}

function unexpected(method: string, recorded: Response, given: Response): RpcError | undefined {
  const content = (response: Response): JsonObject =>
    'error' in response ? { error: { code: response.error.code } } : { result: response.result };
  const found = differences(content(recorded), content(given));
  if (found.length === 0) return undefined;
  return new RpcError(
    ErrorCode.InternalError,
    `The answer to ${method} is not the recorded one: ${describeDifferences(found)}`,
  );
}

/** Replaces the ids and tokens of the recorded client by those of the present one. */
export class Names {
  readonly #recorded: Request | Notification;
  readonly #message: Request | Notification;
  readonly #outlet: Pick<Outlet, 'idOf'>;

  constructor(recorded: Request | Notification, message: Request | Notification, outlet: Pick<Outlet, 'idOf'>) {
    this.#recorded = recorded;
    this.#message = message;
    this.#outlet = outlet;
  }

  /** @returns undefined if the client has not asked for this notification, or does not know what it is about. */
  rename(notice: Notification): Notification | undefined {
    const { method, params } = notice;
    if (!params) return notice;
    if (method === NotificationMethod.Progress && params['progressToken'] === tokenOf(this.#recorded)) {
      const token = tokenOf(this.#message);
      return token === undefined ? undefined : { ...notice, params: put(params, 'progressToken', token) };
    }
    if (method === NotificationMethod.Cancelled) {
      const id = this.#outlet.idOf?.(params['requestId'] as RequestId);
      return id === undefined ? undefined : { ...notice, params: put(params, 'requestId', id) };
    }
    if (!isRequest(this.#recorded) || !isRequest(this.#message)) return notice;
    const [from, to] = [this.#recorded.id, this.#message.id];
    const renamed = inside(params, '_meta', (meta) =>
      meta[Meta.SubscriptionId] === from ? put(meta, Meta.SubscriptionId, to) : meta,
    );
    return renamed === params ? notice : { ...notice, params: renamed };
  }
}

function tokenOf({ params }: Request | Notification): unknown {
  const meta: unknown = params?.['_meta'];
  return isObject(meta) ? meta[Meta.ProgressToken] : undefined;
}
