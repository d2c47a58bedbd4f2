import type { RequestId } from '../../../../jsonrpc/message.ts';
import type { SessionId } from '../../../../store/event-log.ts';

/**
 * The newest requests, by their session and id. Each request of a client adds one, and few ask for one. So adding writes
 * two places that are used again, and makes no key for a map.
 */
export class RecentRequests {
  readonly #max: number;
  readonly #sessions: SessionId[] = [];
  /** Undefined if it was removed. */
  readonly #ids: (RequestId | undefined)[] = [];
  #next = 0;

  /** @param max how many are remembered. */
  constructor(max: number) {
    this.#max = max;
  }

  add(session: SessionId, id: RequestId): void {
    this.#sessions[this.#next] = session;
    this.#ids[this.#next] = id;
    this.#next = (this.#next + 1) % this.#max;
  }

  has(session: SessionId, id: RequestId): boolean {
    return this.#ids.some((known, at) => known === id && this.#sessions[at] === session);
  }

  delete(session: SessionId, id: RequestId): void {
    for (const [at, known] of this.#ids.entries())
      if (known === id && this.#sessions[at] === session) this.#ids[at] = undefined;
  }
}
