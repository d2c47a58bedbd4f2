import type { Span } from '../../src/inspect/spans/span.ts';
import type { WireRecord } from './wire-record.ts';

const DISCOVER = 'server/discover';
/** For how many servers the newest discovery is remembered. Most servers never get an `initialize` after it. */
const MAX_SERVERS = 1000;

/**
 * Finds probes: a client of 2026-07-28 sends `server/discover` first. If the server is older, it answers with an error, and
 * the client goes on with `initialize` (2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based Versions").
 */
export class Probes {
  /** The newest discovery of each server, the oldest first. */
  readonly #newest = new Map<string, Span>();
  readonly #probes = new WeakSet<Span>();

  /** @param open the record that opened its connection. */
  add(record: WireRecord, open: WireRecord | undefined): void {
    const { kind, spans, conn } = record;
    if (kind !== 'request') return;
    const server = open?.role === 'client' && open.peer !== undefined ? open.peer : String(conn);
    for (const span of spans) {
      if (span.method === DISCOVER) this.#remember(server, span);
      else if (span.method === 'initialize') {
        const discovery = this.#newest.get(server);
        if (discovery) this.#probes.add(discovery);
        this.#newest.delete(server);
      }
    }
  }

  #remember(server: string, discovery: Span): void {
    this.#newest.delete(server);
    this.#newest.set(server, discovery);
    if (this.#newest.size <= MAX_SERVERS) return;
    const [oldest] = this.#newest.keys();
    this.#newest.delete(oldest!);
  }

  has(span: Span): boolean {
    return span.state === 'failed' && this.#probes.has(span);
  }
}
