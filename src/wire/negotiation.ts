import type { JsonObject } from '../jsonrpc/message.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { Implementation } from '../protocol/types.ts';
import type { Carrier } from '../transport/carrier.ts';
import type { Attribution } from './legacy/attribution.ts';
import type { ReasonedTransport } from './probed-connection.ts';
import type { Upstream } from './upstream.ts';
import type { CachedEra, Era, EraCache, UpstreamRoute } from './era-cache.ts';

/** Ways to one server over HTTP; each call makes a new one. What is absent is not tried. */
export interface HttpTarget {
  /** For 2026-07-28. */
  readonly carrier?: (() => Carrier | Promise<Carrier>) | undefined;
  /** Streamable HTTP of 2025-03-26 to 2025-11-25. */
  readonly streamable?: (() => ReasonedTransport | Promise<ReasonedTransport>) | undefined;
  /** HTTP+SSE of 2024-11-05. */
  readonly sse?: (() => ReasonedTransport | Promise<ReasonedTransport>) | undefined;
}

export interface ConnectUpstreamOptions {
  readonly clientInfo: Implementation;
  /**
   * What the questions of the server may be about. Default: in a handshake nothing, in requests of 2026-07-28 what the
   * caller of each exchange has declared.
   */
  readonly capabilities?: JsonObject | undefined;
  /** The one revision to ask for; its era is the only one that is tried. Default: the newest that both sides have. */
  readonly revision?: Revision | undefined;
  /**
   * The revision of a caller in whose name the server is spoken to: its era is tried first, a handshake asks for it or the
   * newest that has one, and a request of 2026-07-28 says of its sender what the caller of its exchange said. Default: this
   * side speaks for itself.
   */
  readonly onBehalfOf?: Revision | undefined;
  /** Knows whose something is that a server of a handshake revision does not say it of. Default: see `connectLegacy`. */
  readonly attribution?: Attribution | undefined;
  /** Which eras are tried. Default `both`, the one without handshake first. */
  readonly eras?: 'both' | Era | undefined;
  /** How long a request waits for its response, from each sign of progress. Milliseconds, default 10 minutes; 0 for ever. */
  readonly timeout?: number | undefined;
  /** The same whatever the progress. Milliseconds, default 1 hour; 0 for ever. */
  readonly maxTimeout?: number | undefined;
  /**
   * How long a handshake may take, or the first request where there is no other era to try; on a connection of its own all
   * that is tried in turn has this time together. In 2026-07-28 also how long a list of tools to learn their headers from
   * may take, and the acknowledgment of a subscription. Milliseconds, default 60 000; 0 for ever.
   */
  readonly handshakeTimeout?: number | undefined;
  /**
   * How long a server may be silent before it is taken for one that waits for a handshake. Only for connections of their
   * own: over HTTP silence says nothing. At most half of `handshakeTimeout`, so that the handshake has the other.
   * Milliseconds, default 5000; 0 for as long as that.
   */
  readonly probeTimeout?: number | undefined;
  /** The key of the server in `eraCache`. Default: the era is not remembered. */
  readonly key?: string | undefined;
  /** Where the eras of servers are remembered. Default: in this process. */
  readonly eraCache?: EraCache | undefined;
  /**
   * Makes the connection anew, where that can be done, for a server that ends when the first request is no handshake.
   * Called once at most. Not for HTTP. Default: such a server is not reached.
   */
  readonly again?: (() => ReasonedTransport | Promise<ReasonedTransport>) | undefined;
  /** Gives the attempt up. */
  readonly signal?: AbortSignal | undefined;
  /** Hears of what no caller can be told. Default: nobody. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** A server that was connected to, and how. */
export type NegotiatedUpstream = Upstream & CachedEra;

/** What the steps of a negotiation share. */
export interface Negotiation extends Omit<ConnectUpstreamOptions, 'eras' | 'probeTimeout' | 'handshakeTimeout'> {
  readonly eras: ReadonlySet<Era>;
  /** Which of them comes first, where nothing is remembered. */
  readonly first: Era;
  readonly probeTimeout: number;
  readonly handshakeTimeout: number;
  readonly onerror: (error: Error) => void;
  /** How the server was reached before. */
  readonly cached: CachedEra | undefined;
  /** Has this closed where the attempt is given up. @throws the reason where it is. */
  readonly trying: <T extends { close(): Promise<void> }>(closable: T) => T;
}

/** Says of a connected server how it was reached. */
export function reached(upstream: Upstream, era: Era, route: UpstreamRoute): NegotiatedUpstream {
  return Object.assign(upstream, { era, route });
}
