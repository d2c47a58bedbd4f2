import type { JsonObject } from '../jsonrpc/message.ts';
import type { Exchange } from '../core/exchange.ts';
import { SENT_AT_ONCE } from '../transport/transport.ts';
import { weightOf } from '../jsonrpc/weight.ts';
import { HeldNotices } from './held-notices.ts';
import { noticesInFlight } from './notices-in-flight.ts';

/** When so many notifications of an exchange are on their way, or so many bytes of memory (estimated), further ones wait. */
const MAX_IN_FLIGHT = 32;
const MAX_BYTES_IN_FLIGHT = 1024 * 1024;
/** The bytes that may be on their way for each exchange if those of all exchanges have no room. */
const FREE_BYTES_IN_FLIGHT = 64 * 1024;
/** The size of the largest message. Parsed parameters may take more memory, but they are on their way as text. */
const MAX_MESSAGE = 16 * 1024 * 1024;
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
    if (!this.#waiting && this.#hasRoom(params)) return this.#send(method, params);
    this.#waiting ??= new HeldNotices(LIMITS);
    if (this.#waiting.push(method, params)) this.#reportDrop();
    if (this.#inFlight === 0) noticesInFlight.whenRoom(this.#sendNext);
  }

  /**
   * Sends everything that waits, without a limit of this exchange. What has no room among those of all exchanges is dropped,
   * because the result is sent next, and no notification may follow it.
   */
  flush(): void {
    for (const { method, params, size } of this.take()) {
      if (this.#hasRoomAmongAll(params, size)) this.#send(method, params, size);
      else this.#reportDrop();
    }
  }

  /** Removes and returns everything that waits. */
  take(): ReturnType<HeldNotices['take']> {
    const waiting = this.#waiting?.take() ?? [];
    if (this.#waiting) noticesInFlight.forget(this.#sendNext);
    this.#emptied();
    return waiting;
  }

  /** @param size of the parameters, if it is known. To weigh them takes long if they are large. */
  #hasRoom(params: JsonObject, size?: number): boolean {
    if (this.#inFlight >= MAX_IN_FLIGHT || this.#bytesInFlight >= MAX_BYTES_IN_FLIGHT) return false;
    return this.#hasRoomAmongAll(params, size);
  }

  #hasRoomAmongAll(params: JsonObject, size?: number): boolean {
    if (noticesInFlight.hasRoom) return true;
    return this.#bytesInFlight + (size ?? weightOf(params, FREE_BYTES_IN_FLIGHT)) <= FREE_BYTES_IN_FLIGHT;
  }

  #send(method: string, params: JsonObject, size?: number): void {
    const sent = this.#exchange.notify(method, params);
    if (sent === SENT_AT_ONCE) return;
    const bytes = size ?? weightOf(params, MAX_MESSAGE);
    this.#count(1, bytes);
    // The owner of the exchange reports a failure.
    const done = (): void => {
      this.#count(-1, -bytes);
      this.#sendNext();
    };
    sent.then(done, done);
  }

  #count(notices: number, bytes: number): void {
    this.#inFlight += notices;
    this.#bytesInFlight += bytes;
    noticesInFlight.add(bytes);
  }

  readonly #sendNext = (): void => {
    while (this.#waiting) {
      const { first } = this.#waiting;
      if (!first) return this.#emptied();
      if (!this.#hasRoom(first.params, first.size)) break;
      this.#waiting.shift();
      this.#send(first.method, first.params, first.size);
    }
    if (this.#waiting && this.#inFlight === 0) noticesInFlight.whenRoom(this.#sendNext);
  };

  #reportDrop(): void {
    if (this.#dropped) return;
    this.#dropped = true;
    const limit = `${LIMITS.count} notifications or ${LIMITS.size} bytes`;
    this.#onerror(new Error(`The client reads too slowly: more than ${limit} wait for it, so the oldest are dropped`));
  }

  #emptied(): void {
    this.#waiting = undefined;
    this.#dropped = false;
  }
}
