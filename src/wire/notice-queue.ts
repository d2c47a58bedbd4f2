import type { JsonObject } from '../jsonrpc/message.ts';
import type { Exchange } from '../core/exchange.ts';
import { SENT_AT_ONCE } from '../transport/transport.ts';
import { HeldNotices } from './held-notices.ts';

/** The most notifications of an exchange that are being sent. Further ones wait. */
const MAX_ON_THE_WAY = 32;
const LIMITS = { count: 1000, size: 10 * 1024 * 1024 };

/**
 * The notifications for one exchange, in order. A server cannot be slowed down, so they wait here if the reader is
 * slow. What is dropped is reported once until the queue is empty.
 */
export class NoticeQueue {
  readonly #exchange: Exchange;
  readonly #onerror: (error: Error) => void;
  #onTheWay = 0;
  /** Created when one has to wait. */
  #waiting: HeldNotices | undefined;
  /** Whether something was dropped since the queue was last empty. */
  #dropped = false;

  constructor(exchange: Exchange, onerror: (error: Error) => void) {
    this.#exchange = exchange;
    this.#onerror = onerror;
  }

  push(method: string, params: JsonObject): void {
    if (this.#onTheWay < MAX_ON_THE_WAY && !this.#waiting) return this.#send(method, params);
    this.#waiting ??= new HeldNotices(LIMITS);
    if (!this.#waiting.push(method, params) || this.#dropped) return;
    this.#dropped = true;
    const most = `${LIMITS.count} notifications, or ${LIMITS.size} characters`;
    this.#onerror(new Error(`The reader is slow: of more than ${most}, that wait for it the oldest are dropped`));
  }

  /** Sends everything that waits, without a limit. Nothing may follow the result, and that is about to be sent. */
  flush(): void {
    for (const { method, params } of this.take()) this.#send(method, params);
  }

  /** Removes and returns everything that waits. */
  take(): ReturnType<HeldNotices['take']> {
    const waiting = this.#waiting?.take() ?? [];
    this.#emptied();
    return waiting;
  }

  #send(method: string, params: JsonObject): void {
    const sent = this.#exchange.notify(method, params);
    if (sent === SENT_AT_ONCE) return;
    this.#onTheWay += 1;
    // The side that made the exchange reports a failure.
    const done = (): void => this.#next();
    sent.then(done, done);
  }

  #next(): void {
    this.#onTheWay -= 1;
    while (this.#waiting && this.#onTheWay < MAX_ON_THE_WAY) {
      const first = this.#waiting.shift();
      if (!first) return this.#emptied();
      this.#send(first.method, first.params);
    }
  }

  #emptied(): void {
    this.#waiting = undefined;
    this.#dropped = false;
  }
}
