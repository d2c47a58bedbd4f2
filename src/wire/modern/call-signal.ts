import { abortReason, isAborted, offAbort, onAbort } from '../../core/abortable.ts';
import type { Exchange } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { CancelSignal } from '../../transport/carrier.ts';

/** Cancels one request: when its exchange is given up, or when it is told to. Has room for one listener. */
export class CallSignal implements CancelSignal {
  readonly #exchange: Exchange;
  readonly #givenUp = (): void => this.abort(RpcError.from(abortReason(this.#exchange)));
  #listener: (() => void) | undefined;
  #reason: RpcError | undefined;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    if (isAborted(exchange)) this.#givenUp();
    else onAbort(exchange, this.#givenUp);
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  get reason(): RpcError | undefined {
    return this.#reason;
  }

  abort(reason: RpcError): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#listener?.();
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listener = listener;
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
  }

  /** The request is over. */
  release(): void {
    offAbort(this.#exchange, this.#givenUp);
  }
}
