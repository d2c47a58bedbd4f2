import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, notification, type JsonObject, type RequestId } from '../../../jsonrpc/message.ts';
import { BaseExchange } from '../../../core/base-exchange.ts';
import { NotAsked, type AskOptions, type Caller, type Exchange } from '../../../core/exchange.ts';
import { paced } from '../../../base/paced.ts';
import { reaches } from '../../../protocol/logging.ts';
import { Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import { asksFor, filterIn, CHANGES } from '../../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../../protocol/types.ts';
import { SENT_AT_ONCE, type MessageExtra, type ReplyChannel } from '../../../transport/transport.ts';
import { HeldNotices } from '../../held-notices.ts';

/** One request of the caller that an exchange can answer now. */
export interface Round {
  readonly id: RequestId;
  readonly caller: Caller;
  readonly extra: MessageExtra | undefined;
  readonly reply: ReplyChannel;
  readonly progressToken: RequestId | undefined;
}

/** Asks the caller on behalf of an exchange. */
export type Asker = (
  exchange: ModernExchange,
  method: string,
  params: JsonObject,
  options: AskOptions | undefined,
) => Promise<JsonObject>;

/** The limits of held notifications: those before the acknowledgement, or while no request is open to carry them. */
const HELD = { count: 100, size: 256 * 1024 };
/** What is held while an exchange is suspended. Of progress, only the newest. */
const HELD_METHODS: ReadonlySet<string> = new Set([NotificationMethod.Message, NotificationMethod.Progress]);
/** Created once, because creating an error for each response is slow. */
const ANSWERED = new RpcError(ErrorCode.InvalidRequest, 'The request has been answered');
let count = 0;

/**
 * An exchange without a session. It lasts as long as its handler works. While questions to the caller are open, it has
 * no round. The caller's next request with its state becomes its round.
 */
export class ModernExchange extends BaseExchange implements Exchange {
  /** Different for each exchange. */
  readonly number = (count += 1);
  readonly method: string;
  readonly params: JsonObject;
  readonly #ask: Asker;
  #round: Round | undefined;
  #last: Round;
  #held: HeldNotices | undefined;
  /** The filter that the subscription's acknowledgement named. */
  #acknowledged: SubscriptionFilter | undefined;
  /** Called once when the exchange is aborted. */
  onabort: ((reason: Error) => void) | undefined;

  constructor(method: string, params: JsonObject, round: Round, ask: Asker) {
    super();
    this.method = method;
    this.params = params;
    this.#round = this.#last = round;
    this.#ask = ask;
  }

  /** The sender of the newest request that this exchange answers. */
  get caller(): Caller {
    return this.#last.caller;
  }

  get header(): ((name: string) => string | undefined) | undefined {
    return this.#last.extra?.header;
  }

  /** The request that can be answered now. Undefined while the exchange is suspended. */
  get round(): Round | undefined {
    return this.#round;
  }

  /** Suspends the exchange until the caller sends answers. */
  suspend(): void {
    this.#round = undefined;
  }

  /** Continues with the caller's next request. */
  resume(round: Round): void {
    this.#round = this.#last = round;
    this.#release();
  }

  /** The request has been answered. Nothing may be sent after the response. */
  answered(): void {
    this.#round = undefined;
    this.#held?.take();
    if (!this.ended) this.settle(ANSWERED);
  }

  /**
   * Aborts the handler, because the caller has cancelled or disconnected, or because the request was answered while the
   * handler still works.
   */
  override abort(reason: Error): void {
    if (this.ended && this.ended !== ANSWERED) return;
    this.#round = undefined;
    this.#held?.take();
    this.fire(reason);
    this.onabort?.(reason);
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    if (this.ended) return paced(SENT_AT_ONCE);
    if (this.method === Method.Listen) return this.#toSubscriber(method, params);
    const shaped = this.#toRequest(method, params);
    if (!shaped) return paced(SENT_AT_ONCE);
    if (!this.#round) return HELD_METHODS.has(method) ? this.#hold(method, shaped) : paced(SENT_AT_ONCE);
    return this.#send(this.#round, method, shaped);
  }

  #send({ reply }: Round, method: string, params: JsonObject): Promise<void> {
    const sent = reply.notify(notification(method, params));
    // Code that awaits this gets the error. If nothing awaits it, the rejection must not end the process. The reply
    // reports the failure.
    if (sent !== SENT_AT_ONCE) sent.catch(() => {});
    return paced(sent);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    if (this.ended) return Promise.reject(new NotAsked(method, this.method));
    if (options?.signal?.aborted) return Promise.reject(options.signal.reason);
    return this.#ask(this, method, params, options);
  }

  /**
   * Sends a notification to a subscription, with the id of the request. The acknowledgement is sent first. After it,
   * only notifications that it named are sent (2026-07-28, patterns/subscriptions: Opening a Stream; Acknowledgment).
   */
  #toSubscriber(method: string, params: JsonObject = {}): Promise<void> {
    const first = method === NotificationMethod.Acknowledged;
    if (!first) {
      if (!asksFor(this.#acknowledged ?? filterIn(this.params), method, params)) return paced(SENT_AT_ONCE);
      if (!this.#acknowledged) return this.#hold(method, params);
    }
    if (!this.#round) return paced(SENT_AT_ONCE);
    const meta: unknown = params['_meta'];
    const named = { ...(isObject(meta) ? meta : {}), [Meta.SubscriptionId]: this.#last.id };
    const sent = this.#send(this.#round, method, { ...params, _meta: named });
    if (first) {
      this.#acknowledged = filterIn(params);
      this.#release();
    }
    return sent;
  }

  /**
   * The parameters of a notification that may go on this request's stream, which carries only related messages
   * (2026-07-28, transports: Receiving Messages). Undefined if it must not be sent there.
   */
  #toRequest(method: string, params: JsonObject = {}): JsonObject | undefined {
    if (method === NotificationMethod.Message) {
      // A request without a log level wants no log messages (2026-07-28, server/utilities/logging: Per-request log
      // level).
      const { logLevel } = this.#last.caller;
      return logLevel !== undefined && reaches(params['level'], logLevel) ? params : undefined;
    }
    if (method === NotificationMethod.Progress) {
      // Each request has its own token, which ends with the request (2026-07-28, patterns/progress).
      const { progressToken } = this.#last;
      return progressToken === undefined ? undefined : { ...params, progressToken };
    }
    return CHANGES.has(method) || method === NotificationMethod.Acknowledged ? undefined : params;
  }

  #hold(method: string, params: JsonObject): Promise<void> {
    const held = new Promise<void>((resolve) => {
      // A notification that cannot be written as JSON fails now, and not when it is sent.
      JSON.stringify(params);
      (this.#held ??= new HeldNotices(HELD)).push(method, params);
      resolve();
    });
    // If nothing awaits it, the rejection must not end the process.
    held.catch(() => {});
    return paced(held);
  }

  #release(): void {
    for (const { method, params } of this.#held?.take() ?? []) void this.notify(method, params);
  }
}
