import { Recent } from '../../../base/recent.ts';
import { notification, type Notification, type RequestId } from '../../../jsonrpc/message.ts';
import { NotificationMethod } from '../../../protocol/methods.ts';

const MAX_IDS = 100;
/** How long a cancellation waits for its request. Milliseconds. */
const MAX_WAIT = 10_000;
/** Bounds the memory of ids that are strings. Clients use short ones. */
const MAX_ID_LENGTH = 100;
/** Of how many ids up to the highest a session remembers whether they were used. Each takes a bit of one integer. */
const WINDOW = 32;

/**
 * The newest cancellations of a session for which there was no request. A client posts a cancellation on another
 * connection than its request, so it may come first.
 *
 * A cancellation that comes after the response must not cancel a later request. An id is never used again (2025-11-25,
 * basic: Requests), but a client of the official SDK that continues a session counts from 0 again. If another process has
 * sent the response, only the time shows that the cancellation was late.
 */
export class EarlyCancellations {
  /** When each came, by `performance.now()`. Undefined while there is none, because most sessions have none. */
  #ids: Recent<number> | undefined;
  /** The highest id of a request that is a number, since the client last counted from the start. */
  #highest = -WINDOW;
  /** Which of the ids up to the highest have been used: bit `n` is for `#highest - n`. */
  #used = 0;

  add(id: unknown): void {
    if (typeof id === 'number' ? this.#isUsed(id) : typeof id !== 'string' || id.length > MAX_ID_LENGTH) return;
    this.#ids ??= new Recent(MAX_IDS);
    this.#ids.add(id, performance.now());
  }

  /** Takes note of a request. Returns whether it has been cancelled already, and forgets the cancellation. */
  take(id: RequestId): boolean {
    if (typeof id === 'number') this.#use(id);
    const at = this.#ids?.take(id);
    return at !== undefined && performance.now() - at < MAX_WAIT;
  }

  #isUsed(id: number): boolean {
    const below = this.#highest - id;
    return below >= 0 && below < WINDOW && (this.#used & (1 << below)) !== 0;
  }

  #use(id: number): void {
    const above = id - this.#highest;
    if (above <= 0 && above > -WINDOW) {
      this.#used |= 1 << -above;
      return;
    }
    // A client that counts from the start again begins far below.
    this.#used = above > 0 && above < WINDOW ? (this.#used << above) | 1 : 1;
    this.#highest = id;
  }
}

export function cancellationOf(id: RequestId): Notification {
  return notification(NotificationMethod.Cancelled, { requestId: id });
}
