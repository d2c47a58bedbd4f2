import { Recent } from '../../../base/recent.ts';
import { notification, type Notification, type RequestId } from '../../../jsonrpc/message.ts';
import { NotificationMethod } from '../../../protocol/methods.ts';

const MAX_IDS = 100;
/** How long a cancellation waits for its request. Milliseconds. */
const MAX_WAIT = 10_000;
/** Bounds the memory of ids that are strings. Clients use short ones. */
const MAX_ID_LENGTH = 100;

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
  /** The newest ids of requests that are numbers. The next one overwrites the oldest. */
  readonly #used: number[] = [];
  #next = 0;

  add(id: unknown): void {
    if (typeof id === 'number' ? this.#used.includes(id) : typeof id !== 'string' || id.length > MAX_ID_LENGTH) return;
    this.#ids ??= new Recent(MAX_IDS);
    this.#ids.add(id, performance.now());
  }

  /** Takes note of a request. Returns whether it has been cancelled already, and forgets the cancellation. */
  take(id: RequestId): boolean {
    if (typeof id === 'number') {
      this.#used[this.#next] = id;
      this.#next = (this.#next + 1) % MAX_IDS;
    }
    const at = this.#ids?.take(id);
    return at !== undefined && performance.now() - at < MAX_WAIT;
  }
}

export function cancellationOf(id: RequestId): Notification {
  return notification(NotificationMethod.Cancelled, { requestId: id });
}
