import { randomUUID } from 'node:crypto';
import { Deferred } from '../../../base/deferred.ts';
import { shareOf } from '../../../base/share.ts';
import { NoShareRoom, ShareRoom } from '../../../base/share-room.ts';
import { Waiters } from '../../../base/waiters.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject, Notification, Request, Response } from '../../../jsonrpc/message.ts';
import { stringify } from '../../../jsonrpc/stringify.ts';
import { NotificationMethod } from '../../../protocol/methods.ts';
import { isUnanswered, type ReceivedCall, type BusReach } from '../../../store/bus.ts';
import type { MessageExtra, ReplyChannel } from '../../../transport/transport.ts';
import type { Round } from './exchange.ts';
import { NOTICES, ReceivedNotices, RoundNotices } from './round-notices.ts';
import type { Place } from './sealed-state.ts';

/** The most retries of one client that other processes answer at a time. */
const MAX_OF_ONE = 64;
/** The most bytes of them. A single one may be larger. */
const MAX_BYTES_OF_ONE = 4 * 1024 * 1024;
/** The longest message that is passed from process to process. Characters. */
const MAX_MESSAGE = 16 * 1024 * 1024;

/**
 * Continues a suspended exchange with a retry that reached another process. Must not throw.
 *
 * @returns whether such an exchange is suspended here.
 */
export type RoundTaker = (request: Request, extra: MessageExtra, reply: ReplyChannel) => boolean;

/**
 * Passes retries to the processes in which their exchanges are suspended, and what these answer back to the callers. If the
 * caller leaves, the other process learns it.
 */
export class PassedRounds {
  /** Where exchanges of this inbound are suspended. A process may have several inbounds. */
  readonly place: Place;
  readonly #reach: BusReach;
  readonly #take: RoundTaker;
  readonly #onerror: (error: Error) => void;
  readonly #room = new ShareRoom(MAX_OF_ONE, MAX_BYTES_OF_ONE);
  /** The rounds that other processes answer. */
  readonly #passed = new Map<string, { readonly notices: ReceivedNotices; readonly abort: AbortController }>();
  readonly #stop: readonly (() => void)[];
  readonly #idle = new Waiters();

  constructor(reach: BusReach, take: RoundTaker, onerror: (error: Error) => void) {
    this.place = { node: reach.node, inbound: randomUUID() };
    this.#reach = reach;
    this.#take = take;
    this.#onerror = onerror;
    this.#stop = [
      reach.bus.answer(kindOf(this.place), (body, call) => this.#answer(body, call)),
      reach.bus.on(NOTICES, (body) => this.#receiveNotices(body)),
    ];
  }

  /** Whether an exchange may be suspended in another process. */
  isElsewhere(place: Place | undefined): place is Place {
    return place !== undefined && place.node !== this.place.node;
  }

  /**
   * Lets another process answer a round.
   *
   * @param rerun called if the other process no longer has the exchange, with the round that is still to be answered.
   * @throws RpcError (rejects) if the round could not be passed on.
   */
  async pass(to: Place, request: Request, round: Round, rerun: (round: Round) => void): Promise<void> {
    const { reply, extra: { principal, auth, address, bytes = 0 } = {} } = round;
    const id = randomUUID();
    const abort = new AbortController();
    reply.onclose = (reason = 'the caller no longer waits for the answer') => abort.abort(new Error(reason));
    let hasProgressed = false;
    const notices = new ReceivedNotices((notification) => {
      hasProgressed ||= notification.method === NotificationMethod.Progress;
      // The reply reports its failure.
      reply.notify(notification).catch(() => {});
    });
    this.#passed.set(id, { notices, abort });
    const body = { round: id, request, extra: { principal, auth, address, bytes } };
    const share = shareOf({ principal, address });
    let answer: JsonObject | undefined;
    try {
      answer = await this.#room.within(share, bytes, () => this.#call(to, body, abort.signal));
    } catch (error) {
      // A caller that has left needs no answer.
      if (abort.signal.aborted && !(error instanceof RpcError)) return;
      if (!(error instanceof NoShareRoom)) throw error;
      throw new RpcError(ErrorCode.InternalError, 'Too many requests wait for other processes; try again later');
    } finally {
      this.#passed.delete(id);
      if (this.#passed.size === 0) this.#idle.wake();
    }
    if (answer?.['response'] !== undefined) {
      const response = JSON.parse(answer['response']) as Response;
      return reply.answer({ ...response, id: round.id }, answer['status']);
    }
    // Progress must increase (2026-07-28, patterns/progress), and the handler begins again.
    rerun(hasProgressed ? { ...round, progressToken: undefined } : round);
  }

  /** Resolves when other processes answer no rounds of callers here, or after some milliseconds. */
  async whenIdle(timeout: number): Promise<void> {
    if (this.#passed.size > 0 && timeout > 0) await this.#idle.wait({ timeout });
  }

  /** Takes no rounds any more. Those that other processes have not answered end with the error. */
  close(reason: RpcError): void {
    for (const stop of this.#stop) stop();
    for (const { abort } of this.#passed.values()) abort.abort(reason);
  }

  /** The answer of another process. Undefined if the exchange is no longer there. @throws RpcError if nobody knows. */
  async #call({ node, inbound }: Place, body: JsonObject, signal: AbortSignal): Promise<JsonObject | undefined> {
    const { bus, isAlive } = this.#reach;
    try {
      return await bus.call(node, kindOf({ inbound }), body, { signal });
    } catch (error) {
      if (!isUnanswered(error)) throw error;
      // While the other process is alive, the handler may go on there.
      if (!(await isAlive(node).catch(() => true))) return undefined;
      const message = 'The process that waits for these answers cannot be reached; send them again later';
      throw new RpcError(ErrorCode.InternalError, message, { cause: error });
    }
  }

  async #answer({ round, request, extra }: JsonObject, call: ReceivedCall): Promise<JsonObject> {
    const notices = new RoundNotices(this.#reach, round, call, this.#onerror);
    const reply = new PassedReply(notices, call.signal);
    return this.#take(request, extra, reply) ? reply.answered : {};
  }

  #receiveNotices({ round, n, messages }: JsonObject): boolean {
    const passed = this.#passed.get(round);
    passed?.notices.receive(n, messages);
    return passed !== undefined;
  }
}

/** The reply to a caller whose retry has reached another process. */
class PassedReply implements ReplyChannel {
  onclose: ((reason?: string) => void) | undefined;
  readonly #notices: RoundNotices;
  readonly #answered = new Deferred<JsonObject>();

  constructor(notices: RoundNotices, signal: AbortSignal) {
    this.#notices = notices;
    signal.addEventListener('abort', () => {
      this.#answered.resolve({});
      this.onclose?.();
    });
  }

  /** The response, when all notifications before it have arrived. */
  get answered(): Promise<JsonObject> {
    return this.#answered.promise;
  }

  notify(message: Notification): Promise<void> {
    try {
      return this.#notices.send(checked(JSON.stringify(message)));
    } catch (error) {
      const failed = Promise.reject(error);
      failed.catch(() => {});
      return failed;
    }
  }

  answer(response: Response, status?: number): void {
    const text = checked(stringify(response));
    const answer = status === undefined ? { response: text } : { response: text, status };
    this.#notices.flush().then(() => this.#answered.resolve(answer), this.#answered.reject);
  }
}

function kindOf({ inbound }: Pick<Place, 'inbound'>): string {
  return `round ${inbound}`;
}

/** @throws RpcError if a text is too long to be passed on. */
function checked(text: string): string {
  if (text.length <= MAX_MESSAGE) return text;
  const message = 'The answer is too large to be passed on to the process of the caller';
  throw new RpcError(ErrorCode.InternalError, message);
}
