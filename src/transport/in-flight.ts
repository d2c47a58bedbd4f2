import { IdTable } from '../jsonrpc/id-table.ts';
import { isRequestId, type Message, type RequestId } from '../jsonrpc/message.ts';

/**
 * The requests that a transport has delivered and that are not answered yet. An id can be reused only after its request
 * is settled. Otherwise two requests could get each other's responses.
 */
export class InFlight {
  readonly #ids = new IdTable<RequestId, true>();
  #initialize: RequestId | undefined;

  get size(): number {
    return this.#ids.size;
  }

  has(id: RequestId | undefined): boolean {
    return this.#ids.has(id);
  }

  /** Reads an incoming message. A request is in flight from now on; a cancelled one no longer is. */
  add(message: Message): void {
    if (!('method' in message)) return;
    if ('id' in message) {
      this.#ids.set(message.id, true);
      if (message.method === 'initialize') this.#initialize = message.id;
    } else if (message.method === 'notifications/cancelled') {
      // A cancelled request gets no response. But `initialize` cannot be cancelled (2025-11-25,
      // basic/utilities/cancellation: Behavior Requirements, 2 and 4).
      const id: unknown = message.params?.['requestId'];
      if (id !== this.#initialize) this.#ids.delete(id as RequestId);
    }
  }

  /** Reads an outgoing message. A response settles its request. */
  settle(message: Message): void {
    if (!('method' in message) && message.id !== undefined && this.#ids.delete(message.id)) {
      if (message.id === this.#initialize) this.#initialize = undefined;
    }
  }
}

/** The request that a message cancels. */
export function cancelledBy(message: Message): RequestId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  const id: unknown = message.params?.['requestId'];
  return isRequestId(id) ? id : undefined;
}
