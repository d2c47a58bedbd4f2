import type { JsonObject } from '../jsonrpc/message.ts';
import type { Exchange } from '../core/exchange.ts';
import { SENT_AT_ONCE } from '../transport/transport.ts';
import { weightOf } from '../jsonrpc/weight.ts';
import { HeldNotices } from './held-notices.ts';

/** When so many notifications of an exchange are on their way, or so many bytes of memory (estimated), further ones wait. */
const MAX_IN_FLIGHT = 32;
const MAX_BYTES_IN_FLIGHT = 1024 * 1024;
const LIMITS = { count: 1000, size: 10 * 1024 * 1024 };

/**
 * The notifications for one exchange, in order. A server cannot be slowed down, so notifications wait here if the
 * reader is slow. After something was dropped, no further drop is reported until the queue is empty.
 */
export class NoticeQueue {
  readonly #exchange: Exchange;
  readonly #onerror: (error: Error) => void;
  #inFlight = 0;
  #bytesInFlight = 0;
  /** Created when the first notification has to wait. */
  #waiting: HeldNotices | undefined;
  /** Whether something was dropped since the queue was last empty. */
  #dropped = false;

  constructor(exchange: Exchange, onerror: (error: Error) => void) {
    this.#exchange = exchange;
    this.#onerror = onerror;
  }

  push(method: string, params: JsonObject): void {
    if (this.#hasRoom() && !this.#waiting) return this.#send(method, params);
    this.#waiting ??= new HeldNotices(LIMITS);
    if (!this.#waiting.push(method, params) || this.#dropped) return;
    this.#dropped = true;
    const limit = `${LIMITS.count} notifications or ${LIMITS.size} bytes`;
    this.#onerror(new Error(`The client reads too slowly: more than ${limit} wait for it, so the oldest are dropped`));
  }

  /** Sends everything that waits, without a limit. The result is sent next, and no notification may follow it. */
  flush(): void {
    for (const { method, params } of this.take()) this.#send(method, params);
  }

  /** Removes and returns everything that waits. */
  take(): ReturnType<HeldNotices['take']> {
    const waiting = this.#waiting?.take() ?? [];
    this.#emptied();
    return waiting;
  }

  #hasRoom(): boolean {
    return this.#inFlight < MAX_IN_FLIGHT && this.#bytesInFlight < MAX_BYTES_IN_FLIGHT;
  }

  #send(method: string, params: JsonObject): void {
    const sent = this.#exchange.notify(method, params);
    if (sent === SENT_AT_ONCE) return;
    // More than that makes no difference.
    const bytes = weightOf(params, MAX_BYTES_IN_FLIGHT);
    this.#inFlight += 1;
    this.#bytesInFlight += bytes;
    // The owner of the exchange reports a failure.
    const done = (): void => {
      this.#inFlight -= 1;
      this.#bytesInFlight -= bytes;
      this.#sendNext();
    };
    sent.then(done, done);
  }

  #sendNext(): void {
    while (this.#waiting && this.#hasRoom()) {
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
