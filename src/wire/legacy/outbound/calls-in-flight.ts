import type { Exchange } from '../../../core/exchange.ts';
import { IdTable } from '../../../jsonrpc/id-table.ts';
import type { RequestId } from '../../../jsonrpc/message.ts';
import { CAN_REQUIRE_INPUT, Method } from '../../../protocol/methods.ts';
import { Newest } from '../../../base/newest.ts';
import type { NoticeQueue } from '../../notice-queue.ts';

/** A request that waits for the server's answer. */
export interface CallInFlight {
  readonly exchange: Exchange;
  /** The progress token that the caller gave. */
  readonly token: RequestId | undefined;
  /** The progress token that was sent to the server. */
  readonly upstreamToken: RequestId | undefined;
  /** Created when the server first sends something that belongs to the call. */
  notices: NoticeQueue | undefined;
  /** How many questions the caller was asked through this call and has not answered. */
  questions: number;
}

/**
 * The calls in flight of one connection. Finds a call by its id, by its progress token, or by how new it is. Maps and sets
 * hold ids only, because old tables of a map or set keep what they hold alive (`IdTable`).
 */
export class CallsInFlight {
  /** Oldest first. */
  readonly #calls = new IdTable<RequestId, CallInFlight>();
  readonly #ids = new WeakMap<Exchange, RequestId>();
  readonly #byToken = new Map<RequestId, RequestId>();
  readonly #askable = new Newest<RequestId>();
  /** The askable calls without an open question. */
  readonly #unasked = new Newest<RequestId>();
  readonly #tools = new Newest<RequestId>();
  /** Calls that want log messages and come from callers without a session. */
  readonly #wanting = new Newest<RequestId>();
  /** How many calls come from callers with a session. */
  #ofSessions = 0;

  get size(): number {
    return this.#calls.size;
  }

  /** Whether another call is in flight than that of an exchange, which may have ended. */
  hasOthersThan(exchange: Exchange): boolean {
    return this.size > (this.of(exchange) ? 1 : 0);
  }

  add(id: RequestId, call: CallInFlight): void {
    const { exchange, upstreamToken } = call;
    const { session, logLevel } = exchange.caller;
    this.#calls.set(id, call);
    this.#ids.set(exchange, id);
    if (upstreamToken !== undefined) this.#byToken.set(upstreamToken, id);
    if (canAsk(exchange)) {
      this.#askable.add(id);
      this.#unasked.add(id);
    }
    if (exchange.method === Method.CallTool) this.#tools.add(id);
    if (session) this.#ofSessions += 1;
    else if (logLevel !== undefined) this.#wanting.add(id);
  }

  delete(id: RequestId, call: CallInFlight): void {
    if (!this.#calls.delete(id)) return;
    if (call.upstreamToken !== undefined) this.#byToken.delete(call.upstreamToken);
    this.#askable.delete(id);
    this.#unasked.delete(id);
    this.#tools.delete(id);
    this.#wanting.delete(id);
    if (call.exchange.caller.session) this.#ofSessions -= 1;
  }

  /** The call with this id. Undefined if the id is undefined. */
  get(id: RequestId | undefined): CallInFlight | undefined {
    return this.#calls.get(id);
  }

  of(exchange: Exchange): CallInFlight | undefined {
    return this.get(this.#ids.get(exchange));
  }

  /** A question is open that the caller is asked through this call. */
  asked(call: CallInFlight): void {
    call.questions += 1;
    if (call.questions === 1) this.#unasked.delete(this.#ids.get(call.exchange)!);
  }

  /** Such a question is no longer open. */
  answered(call: CallInFlight): void {
    call.questions -= 1;
    const id = this.#ids.get(call.exchange)!;
    if (call.questions === 0 && this.#calls.has(id) && canAsk(call.exchange)) this.#unasked.add(id);
  }

  /** The id of the call with this progress token towards the server. */
  idOf(upstreamToken: unknown): RequestId | undefined {
    return this.#byToken.get(upstreamToken as RequestId);
  }

  get only(): CallInFlight | undefined {
    return this.#calls.size === 1 ? this.#calls.values()[0] : undefined;
  }

  /**
   * The newest `tools/call`. If there is none, the newest other call that can carry a question. A caller without a
   * session gets further questions only when it has answered, which it may never do. So its other calls come first.
   */
  get newestAskable(): CallInFlight | undefined {
    const newest = this.get(this.#tools.last ?? this.#askable.last);
    if (!newest || newest.questions === 0 || newest.exchange.caller.session) return newest;
    return this.get(this.#unasked.last) ?? newest;
  }

  /**
   * The newest call that wants log messages. Undefined if any caller has a session, because the session gets the
   * messages.
   */
  get newestWanting(): CallInFlight | undefined {
    return this.#ofSessions > 0 ? undefined : this.get(this.#wanting.last);
  }
}

/** Whether a request can carry a question. Without a session, only some methods can (2026-07-28, patterns/mrtr). */
export function canAsk({ caller, method }: Exchange): boolean {
  return caller.session !== undefined || CAN_REQUIRE_INPUT.has(method);
}
