import type { FewPerTurn } from '../base/few-per-turn.ts';
import { Deferred } from '../base/deferred.ts';
import { waitFor } from '../base/wait.ts';
import {
  errorResponse,
  isRequest,
  isResponse,
  request as requestMessage,
  resultResponse,
  type Message,
  type Notification,
  type Request,
  type RequestId,
  type Response,
} from '../jsonrpc/message.ts';
import { ErrorCode, type RpcError } from '../jsonrpc/errors.ts';
import { modernRevisionOf } from '../lint/model/revisions-of.ts';
import { Method, NotificationMethod } from '../protocol/methods.ts';
import { profileOf, type Revision } from '../protocol/revisions.ts';
import type { MessageExtra, ReplyChannel, Transport } from '../transport/transport.ts';
import { RequestsInFlight, type RequestInFlight } from '../wire/requests-in-flight.ts';
import type { TotalLoad } from '../wire/total-load.ts';
import type { CallOrder } from './call-order.ts';
import { beginning } from './difference.ts';
import type { RecordedCall } from './recorded-call.ts';
import { Names, replay, type Outlet, type ReplayOptions } from './replay.ts';

/** Something that a client sent and that is not in the recording. */
export interface MockMiss {
  /** At most 200 characters of it. */
  readonly method: string;
  /** What was sent, what is recorded, and where they differ. */
  readonly message: string;
  /** The number of the recorded request that is most like it, if there is one of the same method. */
  readonly nearest?: number | undefined;
}

export interface MockSessionOptions extends Pick<ReplayOptions, 'fast' | 'lenient'> {
  readonly onmiss: (miss: MockMiss) => void;
  readonly onerror: (error: Error) => void;
}

/** Answers messages as the recorded server did. */
export class MockAnswers {
  readonly #order: CallOrder;
  readonly #options: MockSessionOptions;
  /** What sends to the open subscriptions, by the number of the recorded `subscriptions/listen`. */
  readonly #subscriptions = new Map<number, Set<(notice: Notification) => Promise<void>>>();

  constructor(order: CallOrder, options: MockSessionOptions) {
    this.#order = order;
    this.#options = options;
  }

  /**
   * Sends what followed a message in the recording.
   *
   * @param revision that was negotiated.
   * @param outlet where it goes. Its `answer` is called at most once.
   */
  async perform(
    message: Request | Notification,
    revision: Revision | undefined,
    { answer, ...rest }: Omit<Outlet, 'announce'>,
    signal: AbortSignal,
  ): Promise<void> {
    const { onmiss, onerror } = this.#options;
    const { method } = message;
    // Clients may send a ping at any time, and its answer has no content.
    if (isRequest(message) && method === Method.Ping) return answer?.(resultResponse(message.id, {}));
    const found = this.#order.find(message, revision);
    if (!found) return;
    const missed = (error: RpcError, nearest?: number): void =>
      onmiss({ method: beginning(method), message: error.message, nearest });
    if ('miss' in found) {
      missed(found.miss, found.nearest?.n);
      if (isRequest(message)) answer?.(errorResponse(message.id, found.miss.toObject()));
      return;
    }
    const { call } = found;
    const outlet: Outlet = { ...rest, answer, announce: (notice, listen) => this.#announce(notice, listen) };
    if (method === Method.Listen) this.#follow(call, message, outlet, signal);
    const options = { ...this.#options, onmiss: (error: RpcError) => missed(error, call.n), signal };
    try {
      await replay(call, message, outlet, options);
    } catch (error) {
      // The client has left. What it had asked for needs no answer.
      if (!signal.aborted) onerror(error as Error);
    }
  }

  #follow(
    { n, message: recorded }: RecordedCall,
    message: Request | Notification,
    outlet: Outlet,
    signal: AbortSignal,
  ) {
    const names = new Names(recorded, message, outlet);
    const send = async (notice: Notification): Promise<void> => {
      const renamed = names.rename(notice);
      if (renamed) await outlet.notify(renamed, true);
    };
    const same = this.#subscriptions.get(n) ?? new Set();
    this.#subscriptions.set(n, same.add(send));
    signal.addEventListener('abort', () => same.delete(send));
  }

  async #announce(notice: Notification, listen: number): Promise<void> {
    const { onerror } = this.#options;
    // A client that has left does not keep the others from hearing it.
    for (const send of this.#subscriptions.get(listen) ?? []) await send(notice).catch(onerror);
  }
}

/** Answers a request of a revision without sessions. */
export async function answerStateless(
  answers: MockAnswers,
  message: Request | Notification,
  reply: ReplyChannel | undefined,
): Promise<void> {
  const ended = new AbortController();
  if (reply) reply.onclose = () => ended.abort();
  const outlet = {
    notify: (notice: Notification) => reply?.notify(notice) ?? Promise.resolve(),
    answer: (response: Response) => reply?.answer(response),
  };
  await answers.perform(message, modernRevisionOf(message), outlet, ended.signal);
}

/** What a session gets from its mock. */
export interface SessionPlace {
  readonly answers: MockAnswers;
  /** Counts the requests in flight of all sessions. */
  readonly total: TotalLoad;
  /** Ends the requests that their clients no longer wait for, of all sessions. */
  readonly ends: FewPerTurn;
  readonly onerror: (error: Error) => void;
  readonly onclose: (session: MockSession) => void;
}

/** One connection to a mock. */
export class MockSession {
  readonly #transport: Transport;
  readonly #requests: RequestsInFlight;
  /** The questions that wait for an answer, and their ids in the recording. */
  readonly #questions = new Map<RequestId, Deferred<Response>>();
  readonly #ids = new Map<RequestId, RequestId>();
  readonly #closed = new AbortController();
  readonly #place: SessionPlace;
  /** The requests that have no further messages in the recording, and no answer. */
  readonly #unanswered = new Set<RequestInFlight>();
  #ended = false;
  #asked = 0;
  #revision: Revision | undefined;

  constructor(transport: Transport, place: SessionPlace) {
    const { total, ends, onerror } = place;
    this.#transport = transport;
    this.#place = place;
    this.#requests = new RequestsInFlight(transport, total, ends, onerror);
  }

  /** @throws what the transport's `start` throws. */
  start(): Promise<void> {
    const transport = this.#transport;
    transport.onmessage = (message: Message, extra?: MessageExtra) => void this.#receive(message, extra);
    transport.onerror = this.#place.onerror;
    transport.onend = () => this.#end();
    transport.onclose = () => {
      this.#closed.abort();
      this.#requests.close();
      this.#place.onclose(this);
    };
    return transport.start();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#transport.close();
  }

  async #receive(message: Message, extra: MessageExtra | undefined): Promise<void> {
    if (isResponse(message)) {
      if (message.id !== undefined) this.#questions.get(message.id)?.resolve(message);
      return;
    }
    const revision = modernRevisionOf(message) ?? this.#revision;
    if (!isRequest(message)) {
      const { method, params } = message;
      if (method === NotificationMethod.Cancelled && this.#requests.cancel(params?.['requestId'], params?.['reason']))
        return;
      const { signal } = this.#closed;
      return this.#place.answers.perform(message, revision, this.#outlet(undefined, signal), signal);
    }
    const reply = this.#requests.accept(message, extra?.bytes);
    if (!reply) return;
    const ended = new AbortController();
    reply.onclose = () => {
      ended.abort();
      this.#unanswered.delete(reply);
    };
    const outlet = this.#outlet(reply, ended.signal);
    const answer = (response: Response): void => {
      if (message.method === Method.Initialize && 'result' in response) this.#negotiated(response.result);
      if (reply.open) reply.answer(response);
    };
    await this.#place.answers.perform(message, revision, { ...outlet, answer }, ended.signal);
    // Nothing waits for the answers to its questions any more.
    if (!reply.open) return ended.abort();
    this.#unanswered.add(reply);
    if (this.#ended) this.#end();
  }

  /** The client sends nothing more, so it cannot cancel what has no answer. */
  #end(): void {
    this.#ended = true;
    const error = { code: ErrorCode.InternalError, message: 'The recording has no answer to this request' };
    for (const reply of this.#unanswered) if (reply.open) reply.answer(errorResponse(reply.id, error));
    this.#unanswered.clear();
  }

  #negotiated({ protocolVersion }: Record<string, unknown>): void {
    if (typeof protocolVersion !== 'string') return;
    this.#revision = profileOf(protocolVersion)?.revision;
    this.#transport.setProtocolVersion?.(protocolVersion);
  }

  /**
   * @param reply sends what belongs to a request.
   * @param signal fires when nothing waits for answers to questions any more.
   */
  #outlet(reply: ReplyChannel | undefined, signal: AbortSignal): Omit<Outlet, 'announce'> {
    const send = (message: Notification | Request, related: boolean): Promise<void> =>
      related && reply ? reply.notify(message) : this.#transport.send(message);
    return {
      notify: send,
      ask: async (question, related) => {
        this.#asked += 1;
        const id = this.#asked;
        const answered = new Deferred<Response>();
        this.#questions.set(id, answered);
        this.#ids.set(question.id, id);
        try {
          await send(requestMessage(id, question.method, question.params), related);
          return await waitFor(answered.promise, { signal });
        } finally {
          this.#questions.delete(id);
        }
      },
      idOf: (recorded) => this.#ids.get(recorded),
    };
  }
}
