import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, isRequestId, notification, type JsonObject, type RequestId } from '../../jsonrpc/message.ts';
import { BaseExchange } from '../../core/base-exchange.ts';
import { NotAsked, type AskOptions, type Caller, type Exchange } from '../../core/exchange.ts';
import { inTurn } from '../../core/turn.ts';
import { reaches } from '../../protocol/logging.ts';
import { Meta, Method, Notice } from '../../protocol/methods.ts';
import { asksFor } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { TAKEN, type MessageExtra, type ReplyChannel } from '../../transport/transport.ts';

/** One HTTP request, or one line, of an exchange: where it can be answered right now. */
export interface Round {
  readonly id: RequestId;
  readonly caller: Caller;
  readonly extra: MessageExtra | undefined;
  readonly reply: ReplyChannel;
  readonly progressToken: RequestId | undefined;
}

interface Held {
  readonly method: string;
  readonly params: JsonObject;
  /** Characters of its JSON. */
  readonly length: number;
}

/** Asks the caller in the name of an exchange. */
export type Asker = (
  exchange: ModernExchange,
  method: string,
  params: JsonObject,
  options: AskOptions | undefined,
) => Promise<JsonObject>;

/** What is said while no request is there to carry it, or before the acknowledgement, is kept, as much as this. */
const MAX_HELD = 100;
/** Characters of JSON. */
const MAX_HELD_LENGTH = 256 * 1024;
/** Made once: an error for each answer would cost more than all else that an answer does. */
const ANSWERED = new RpcError(ErrorCode.InvalidRequest, 'The request has been answered');
/** What belongs to a subscription alone. */
const CHANGES: ReadonlySet<string> = new Set([
  Notice.Acknowledged,
  Notice.ToolsListChanged,
  Notice.PromptsListChanged,
  Notice.ResourcesListChanged,
  Notice.ResourceUpdated,
]);

/**
 * A request without a session. It lives as long as its handler works on it: while questions to the caller are open it has
 * no round, and the next request of the caller that carries its state gives it one.
 */
export class ModernExchange extends BaseExchange implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  readonly #ask: Asker;
  #round: Round | undefined;
  #last: Round;
  #held: Held[] | undefined;
  #heldLength = 0;
  /** What the subscription was acknowledged to carry. */
  #acknowledged: SubscriptionFilter | undefined;
  /** Called once when the exchange is given up. */
  onabort: ((reason: Error) => void) | undefined;

  constructor(method: string, params: JsonObject, round: Round, ask: Asker) {
    super();
    this.method = method;
    this.params = params;
    this.#round = this.#last = round;
    this.#ask = ask;
  }

  /** Who sent the newest of the requests that this exchange answers. */
  get caller(): Caller {
    return this.#last.caller;
  }

  get header(): ((name: string) => string | undefined) | undefined {
    return this.#last.extra?.header;
  }

  /** The request that can be answered now; undefined while the caller is away with questions. */
  get round(): Round | undefined {
    return this.#round;
  }

  /** The caller is away. */
  park(): void {
    this.#round = undefined;
  }

  /** The caller has come again. */
  resume(round: Round): void {
    this.#round = this.#last = round;
    this.#release();
  }

  /** The request has its answer; nothing may follow it. */
  answered(): void {
    this.#round = undefined;
    if (!this.ended) this.settle(ANSWERED);
  }

  /**
   * The caller has cancelled, or is gone for good; or it was answered for a handler that is still at work, which is to
   * stop.
   */
  override abort(reason: Error): void {
    if (this.ended && this.ended !== ANSWERED) return;
    this.#round = undefined;
    this.fire(reason);
    this.onabort?.(reason);
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    if (this.ended) return inTurn(TAKEN);
    if (this.method === Method.Listen) return this.#toSubscriber(method, params);
    const shaped = this.#toRequest(method, params);
    if (!shaped) return inTurn(TAKEN);
    if (!this.#round) {
      return method === Notice.Message ? this.#hold(method, shaped) : inTurn(TAKEN);
    }
    return this.#send(this.#round, method, shaped);
  }

  #send({ reply }: Round, method: string, params: JsonObject): Promise<void> {
    const sent = reply.notify(notification(method, params));
    // Whoever awaits it gets the error. Whoever does not must not end the process by it; the reply reports the loss.
    if (sent !== TAKEN) sent.catch(() => {});
    return inTurn(sent);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    if (this.ended) return Promise.reject(new NotAsked(method, this.method));
    if (options?.signal?.aborted) return Promise.reject(options.signal.reason);
    return this.#ask(this, method, params, options);
  }

  /**
   * What a subscription carries, each with the id of the request: the acknowledgement first, and then only what was
   * acknowledged (2026-07-28, patterns/subscriptions: Opening a Stream; Acknowledgment).
   */
  #toSubscriber(method: string, params: JsonObject = {}): Promise<void> {
    const first = method === Notice.Acknowledged;
    if (!first) {
      if (!asksFor(this.#acknowledged ?? filterOf(this.params), method, params)) return inTurn(TAKEN);
      if (!this.#acknowledged) return this.#hold(method, params);
    }
    if (!this.#round) return inTurn(TAKEN);
    const meta: unknown = params['_meta'];
    const named = { ...(isObject(meta) ? meta : {}), [Meta.SubscriptionId]: this.#last.id };
    const sent = this.#send(this.#round, method, { ...params, _meta: named });
    if (first) {
      this.#acknowledged = filterOf(params);
      this.#release();
    }
    return sent;
  }

  /** What a request carries: that which relates to it (2026-07-28, transports: Receiving Messages). */
  #toRequest(method: string, params: JsonObject = {}): JsonObject | undefined {
    if (method === Notice.Message) {
      // Silence means that no log messages are wanted (2026-07-28, server/utilities/logging: Per-request log level).
      const { logLevel } = this.#last.caller;
      return logLevel !== undefined && reaches(params['level'], logLevel) ? params : undefined;
    }
    if (method === Notice.Progress) {
      // Each request names its own token, and a token ends with its request (2026-07-28, patterns/progress).
      const progressToken = this.#round?.progressToken;
      return progressToken === undefined ? undefined : { ...params, progressToken };
    }
    return CHANGES.has(method) ? undefined : params;
  }

  #hold(method: string, params: JsonObject): Promise<void> {
    let length: number;
    try {
      ({ length } = JSON.stringify(params));
    } catch (error) {
      const failed = Promise.reject(error);
      // As with what is sent: whoever does not await it must not end the process by it.
      failed.catch(() => {});
      return failed;
    }
    if (length > MAX_HELD_LENGTH) return inTurn(TAKEN);
    const held = (this.#held ??= []);
    // Of a change the newest says all that the older ones did.
    const older = method === Notice.Message ? -1 : held.findIndex((each) => isSame(each, method, params));
    if (older >= 0) this.#heldLength -= held.splice(older, 1)[0]!.length;
    while (held.length >= MAX_HELD || this.#heldLength + length > MAX_HELD_LENGTH) {
      this.#heldLength -= held.shift()!.length;
    }
    held.push({ method, params, length });
    this.#heldLength += length;
    return inTurn(TAKEN);
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#heldLength = 0;
    for (const { method, params } of held) void this.notify(method, params);
  }
}

function filterOf({ notifications }: JsonObject): SubscriptionFilter {
  return isObject(notifications) ? notifications : {};
}

/** Whether two changes are of the same thing. */
function isSame(held: Held, method: string, { uri, taskId }: JsonObject): boolean {
  return held.method === method && held.params['uri'] === uri && held.params['taskId'] === taskId;
}

export function progressTokenOf({ _meta: meta }: JsonObject): RequestId | undefined {
  const token: unknown = isObject(meta) ? meta[Meta.ProgressToken] : undefined;
  return isRequestId(token) ? token : undefined;
}
