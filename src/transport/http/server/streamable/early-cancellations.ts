import { Recent } from '../../../../base/recent.ts';
import { notification, type Notification, type RequestId } from '../../../../jsonrpc/message.ts';
import { NotificationMethod } from '../../../../protocol/methods.ts';

const MAX_IDS = 100;
/** Bounds the memory of ids that are strings. Clients use short ones. */
const MAX_ID_LENGTH = 100;

/**
 * The newest cancellations of a session for which there was no request. A client posts a cancellation on another
 * connection than its request, so it may come first. An id is never used again (2025-11-25, basic: Requests), so a
 * cancellation that came after the response does no harm here.
 */
export class EarlyCancellations {
  /** Undefined while there is none, because most sessions have none. */
  #ids: Recent | undefined;

  add(id: unknown): void {
    if (typeof id !== 'number' && (typeof id !== 'string' || id.length > MAX_ID_LENGTH)) return;
    this.#ids ??= new Recent(MAX_IDS);
    this.#ids.add(id);
  }

  /** Returns whether the request has been cancelled already, and forgets it. */
  take(id: RequestId): boolean {
    if (this.#ids?.has(id) !== true) return false;
    this.#ids.take(id);
    return true;
  }
}

export function cancellationOf(id: RequestId): Notification {
  return notification(NotificationMethod.Cancelled, { requestId: id });
}
