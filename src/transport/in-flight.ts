import { IdTable } from '../jsonrpc/id-table.ts';
import type { Message, RequestId } from '../jsonrpc/message.ts';

/**
 * The requests that a transport has delivered and that are not answered yet. An id can be used again only after its
 * request is settled: two in flight under one id would cross their answers.
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

  /** Notes an incoming message: a request is in flight from now on, a cancelled one is so no more. */
  add(message: Message): void {
    if (!('method' in message)) return;
    if ('id' in message) {
      this.#ids.set(message.id, true);
      if (message.method === 'initialize') this.#initialize = message.id;
    } else if (message.method === 'notifications/cancelled') {
      // No response to it will come; but `initialize` cannot be cancelled (2025-11-25, basic/utilities/cancellation:
      // Behavior Requirements, 2 and 4).
      const id: unknown = message.params?.['requestId'];
      if (id !== this.#initialize) this.#ids.delete(id as RequestId);
    }
  }

  /** Notes an outgoing message: a response settles its request. */
  settle(message: Message): void {
    if (!('method' in message) && message.id !== undefined && this.#ids.delete(message.id)) {
      if (message.id === this.#initialize) this.#initialize = undefined;
    }
  }
}
