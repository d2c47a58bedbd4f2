import { onAborted } from '../base/abort.ts';
import { BaseExchange } from '../core/base-exchange.ts';
import { NotAsked, type AskOptions, type Caller, type Exchange, type Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Deadline } from '../base/deadline.ts';
import { quoting } from '../base/short-text.ts';
import type { SubscriptionFilter } from '../protocol/types.ts';
import { SENT_AT_ONCE } from '../transport/transport.ts';
import { TimeoutError } from './errors.ts';
import type { Change, Progress } from './handlers.ts';

/** The time limits of one call, and the signal that cancels it. */
export interface CallLimits {
  /** Cancels the call: it rejects with the signal's reason, and the server is notified. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds without a response, counted from the last progress. It does not run during a question of the server or
   * a login. 0: no limit.
   */
  readonly timeout: number;
  /** Milliseconds in total, whatever happens. 0: no limit. */
  readonly maxTimeout: number;
}

/** The parts of the client that a call needs. */
export interface CallHost {
  readonly caller: Caller;
  /** When the last login ended, as in `Date.now()`. Infinity during a login. Default: never. */
  readonly loginActiveUntil?: number;
  /** Gets the notifications of the call. */
  notice(call: Call, method: string, params: JsonObject): void;
  /**
   * Answers a question of the server during the call. Meanwhile, it pauses the time limit of each call that may have
   * asked it.
   */
  answer(call: Call, method: string, params: JsonObject, options: AskOptions | undefined): Promise<JsonObject>;
}

/** The handlers for the notifications of one call. */
export interface CallListener {
  readonly onprogress?: ((progress: Progress) => unknown) | undefined;
  /** For a subscription: gets the filter that the server agreed to. */
  readonly onacknowledged?: ((filter: SubscriptionFilter) => void) | undefined;
  /** For a subscription. */
  readonly onchange?: ((change: Change) => unknown) | undefined;
}

/** One call of a client. It always settles within its time limits, even if the service does not. */
export class Call extends BaseExchange implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  readonly caller: Caller;
  /** Handlers for the call's notifications, in addition to the client's own. */
  readonly hears: CallListener;
  readonly #host: CallHost;
  readonly #limits: CallLimits;
  #reject: ((reason: unknown) => void) | undefined;
  #deadline: Deadline | undefined;
  #live = false;
  readonly #cancel = (): void => this.abort(this.#limits.signal?.reason);

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
   * Calls the service. Called once.
   *
   * @throws TimeoutError, the reason of the signal or of `abort`, or the service's error.
   */
  run(service: Service): Promise<JsonObject> {
    const { signal } = this.#limits;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      this.#live = true;
      this.#reject = reject;
      if (signal) onAborted(signal, this.#cancel);
      const onTimeout = (limit: number): void =>
        this.abort(new TimeoutError(quoting`${this.method} was not answered within ${limit} ms`, limit));
      this.#deadline = new Deadline(this.#limits, onTimeout, () => this.#host.loginActiveUntil ?? 0);
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

  /** Cancels the call. Does nothing if it has settled. */
  override abort(reason: Error): void {
    if (!this.#live) return;
    this.settle(reason);
    this.#end();
    this.fire(reason);
    this.#reject?.(reason);
  }

  /** Restarts the time limit: the server is working on the call. */
  extend(): void {
    if (this.#live) this.#deadline?.extend();
  }

  notify(method: string, params: JsonObject = {}): Promise<void> {
    if (this.#live) this.#host.notice(this, method, params);
    return SENT_AT_ONCE;
  }

  async ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    if (!this.#live) throw new NotAsked(method, this.method);
    return this.#host.answer(this, method, params, options);
  }

  /** When a time limit ends the call if nothing restarts it, as in `Date.now()`. Undefined without a limit. */
  get expiresAt(): number | undefined {
    const at = this.#deadline?.expiresAt;
    return at === Infinity ? undefined : at;
  }

  /** Pauses all time limits except the total one: while a user answers a question, or for a subscription. */
  hold(): void {
    if (this.#live) this.#deadline?.hold();
  }

  /** Undoes one `hold`. */
  release(): void {
    if (this.#live) this.#deadline?.release();
  }

  #end(): void {
    if (!this.#live) return;
    this.#live = false;
    this.#deadline?.clear();
    this.#limits.signal?.removeEventListener('abort', this.#cancel);
    // The call has ended, so cancel its open questions.
    if (this.#deadline?.held) this.fire(this.ended ?? answered());
  }
}

function answered(): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, 'The request has been answered');
}
