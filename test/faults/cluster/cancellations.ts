import type { Exchanged } from './front.ts';
import type { History } from './history.ts';
import type { JsonObject } from './wire.ts';

/** A cancellation names a request by its id, and a call of a library has another one. The most calls that are remembered. */
const MOST = 100_000;

/** Writes what became of the cancellations of libraries, which do not say it. */
export class Cancellations {
  readonly #history: History;
  /** Calls, by their sessions and request ids. */
  readonly #calls = new Map<string, string>();

  constructor(history: History) {
    this.#history = history;
  }

  /** A front has passed a request on. */
  readonly observe = ({ session, body, since, process, status }: Exchanged): void => {
    if (session === undefined || body.length === 0) return;
    const { id, method, params } = JSON.parse(body.toString()) as JsonObject;
    if (method === 'tools/call') {
      const call: unknown = params?.arguments?.call;
      // A client that sees the wire uses the name of the call as its id, and writes what it sees.
      if (typeof call !== 'string' || call === id) return;
      if (this.#calls.size >= MOST) this.#calls.clear();
      this.#calls.set(`${session} ${String(id)}`, call);
    } else if (method === 'notifications/cancelled') {
      const about = this.#calls.get(`${session} ${String(params?.requestId)}`);
      if (about !== undefined) this.#history.add({ at: Date.now(), about, what: 'cancelled', since, process, status });
    }
  };
}
