import { BaseExchange } from '../core/base-exchange.ts';
import { NotAsked, type AskOptions, type Caller, type Exchange, type Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { startTimer, type Timer } from '../util/timer.ts';
import type { SubscriptionFilter } from '../protocol/types.ts';
import { TAKEN } from '../transport/transport.ts';
import { leftOf } from '../transport/http/client/attendance.ts';
import { TimeoutError } from './errors.ts';
import type { Change, Progress } from './handlers.ts';
import { endBy, letGo } from './shared-signal.ts';

/** How long one call may take, and who may end it. */
export interface CallLimits {
  /** Gives the call up: it rejects with the signal's reason, and the server is told. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds without an answer, counted from the last progress; not while the server asks something, nor while a person
   * logs in. 0 for ever.
   */
  readonly timeout: number;
  /** Milliseconds in all, whatever happens. 0 for ever. */
  readonly maxTimeout: number;
}

/** What a call needs of its client. */
export interface CallHost {
  readonly caller: Caller;
  /** When a person was busy with a login last, as `Date.now()` has it; Infinity while one is. Default: never. */
  readonly loginActiveUntil?: number;
  /** Hears what belongs to the call. */
  notice(call: Call, method: string, params: JsonObject): void;
  /** Answers a question in the middle of the call, and holds each call that may have asked it meanwhile. */
  answer(call: Call, method: string, params: JsonObject, options: AskOptions | undefined): Promise<JsonObject>;
}

/** Who hears what belongs to one call. */
export interface CallListener {
  readonly onprogress?: ((progress: Progress) => void) | undefined;
  /** Of a subscription: what the server agreed to tell of. */
  readonly onacknowledged?: ((filter: SubscriptionFilter) => void) | undefined;
  /** Of a subscription. */
  readonly onchange?: ((change: Change) => void) | undefined;
}

/** One call of a client, from its start until it settles, which it does within its limits whatever the service does. */
export class Call extends BaseExchange implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  readonly caller: Caller;
  /** Where what belongs to the call goes beside the client. */
  readonly hears: CallListener;
  readonly #host: CallHost;
  readonly #limits: CallLimits;
  #reject: ((reason: unknown) => void) | undefined;
  #timer: Timer;
  #started = 0;
  /** Questions of the server that are open: while people think, no time runs out but the hard maximum. */
  #questions = 0;
  #live = false;

  constructor(
    host: CallHost,
    method: string,
    params: JsonObject,
    limits: CallLimits,
    { caller = host.caller, ...hears }: CallListener & { readonly caller?: Caller } = {},
  ) {
    super();
    this.#host = host;
    this.#limits = limits;
    this.method = method;
    this.params = params;
    this.caller = caller;
    this.hears = hears;
  }

  /**
   * Has the service answer; called once.
   *
   * @throws TimeoutError, the reason of the signal or of `abort`, or what the service rejects with.
   */
  run(service: Service): Promise<JsonObject> {
    const { signal } = this.#limits;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      this.#live = true;
      this.#reject = reject;
      this.#started = Date.now();
      if (signal) endBy(signal, this);
      this.#arm();
      invoke(service, this).then(
        (result) => {
          this.#end();
          resolve(result);
        },
        (error: unknown) => {
          this.#end();
          reject(error);
        },
      );
    });
  }

  /** The caller's signal has fired. */
  handleEvent(): void {
    this.abort(this.#limits.signal?.reason);
  }

  /** Gives the call up. Nothing happens where it has settled. */
  override abort(reason: Error): void {
    if (!this.#live) return;
    this.settle(reason);
    this.#end();
    this.fire(reason);
    this.#reject?.(reason);
  }

  /** The server has shown that it works on the call. */
  extend(): void {
    if (this.#live) this.#arm();
  }

  notify(method: string, params: JsonObject = {}): Promise<void> {
    if (this.#live) this.#host.notice(this, method, params);
    return TAKEN;
  }

  async ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    if (!this.#live) throw new NotAsked(method, this.method);
    return this.#host.answer(this, method, params, options);
  }

  /** Stops all time limits except the hard maximum: while a person thinks about a question, or for a subscription. */
  hold(): void {
    this.#questions += 1;
    this.extend();
  }

  /** Takes back one `hold`. */
  release(): void {
    this.#questions -= 1;
    this.extend();
  }

  #arm(timeout = this.#limits.timeout): void {
    const { maxTimeout } = this.#limits;
    clearTimeout(this.#timer);
    const remaining = maxTimeout > 0 ? Math.max(1, this.#started + maxTimeout - Date.now()) : Infinity;
    const wait = Math.min(timeout > 0 && this.#questions === 0 ? timeout : Infinity, remaining);
    this.#timer = startTimer(wait, () => this.#expire(wait, wait === remaining));
  }

  /** @param hard whether it is the maximum that is over. */
  #expire(waited: number, hard: boolean): void {
    const limit = hard ? this.#limits.maxTimeout : this.#limits.timeout;
    const left = hard ? 0 : leftOf(limit, waited, this.#host.loginActiveUntil ?? 0);
    if (left > 0) return this.#arm(left);
    this.abort(new TimeoutError(`${this.method} was not answered within ${limit} ms`, limit));
  }

  #end(): void {
    if (!this.#live) return;
    this.#live = false;
    clearTimeout(this.#timer);
    if (this.#limits.signal) letGo(this.#limits.signal, this);
    // Who still thinks about a question of a call that is over need not.
    if (this.#questions > 0) this.fire(this.ended ?? answered());
  }
}

function answered(): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, 'The request has been answered');
}
