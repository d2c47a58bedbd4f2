import { REVISIONS, type Revision } from '../protocol/revisions.ts';
import type { Carrier } from '../transport/carrier.ts';
import type { Attribution } from './legacy/outbound/attribution.ts';
import type { Transport } from '../transport/transport.ts';
import type { Upstream, UpstreamOptions } from './upstream.ts';
import type { CachedEra, Era, EraCache, UpstreamRoute } from './era-cache.ts';

/** The ways to reach one server over HTTP. Each call opens a new connection. An absent way is not tried. */
export interface HttpTarget {
  /** For 2026-07-28. */
  readonly carrier?: (() => Carrier | Promise<Carrier>) | undefined;
  /** Streamable HTTP of 2025-03-26 to 2025-11-25. */
  readonly streamable?: (() => HttpTransport | Promise<HttpTransport>) | undefined;
  /** HTTP+SSE of 2024-11-05. */
  readonly sse?: (() => HttpTransport | Promise<HttpTransport>) | undefined;
}

interface HttpTransport extends Transport {
  /** The last request id that was used in its session. Default 0: none. */
  readonly lastId?: number;
}

/** For a server on its own connection, `handshakeTimeout` is the limit of all attempts together. */
export interface ConnectUpstreamOptions extends UpstreamOptions {
  /**
   * The revision of the caller that this connection serves. Its era is tried first. A handshake asks for it, or for the
   * newest revision with a handshake. A request of 2026-07-28 carries the client information of its exchange's caller.
   * Default: this side speaks for itself.
   */
  readonly onBehalfOf?: Revision | undefined;
  /** Assigns a legacy server's unattributed messages to a call. Default: see `connectLegacy`. */
  readonly attribution?: Attribution | undefined;
  /** Which eras are tried. Default `both`, starting with the one without a handshake. */
  readonly eras?: 'both' | Era | undefined;
  /**
   * How long a silent server is probed before the handshake is tried. Only for a server on its own connection: over
   * HTTP, silence shows nothing. At most half of `handshakeTimeout`, so that the handshake has the other half.
   * Milliseconds, default 5000; 0 for half of `handshakeTimeout`.
   */
  readonly probeTimeout?: number | undefined;
  /** The key of the server in `eraCache`. Default: the era is not remembered. */
  readonly key?: string | undefined;
  /** Where the eras of servers are cached. Default: in this process. */
  readonly eraCache?: EraCache | undefined;
  /**
   * Reopens the connection, for a server that exits when the first request is not a handshake. Called at most once. Not
   * for HTTP. Default: such a server cannot be reached.
   */
  readonly again?: (() => Transport | Promise<Transport>) | undefined;
  /** Aborts the attempt. */
  readonly signal?: AbortSignal | undefined;
}

/** A connected server, with its era and route. */
export type NegotiatedUpstream = Upstream & CachedEra;

/** What the steps of a negotiation share. */
export interface Negotiation extends Omit<ConnectUpstreamOptions, 'eras' | 'probeTimeout' | 'handshakeTimeout'> {
  readonly eras: ReadonlySet<Era>;
  /** The era to try first if none is cached. */
  readonly first: Era;
  readonly probeTimeout: number;
  readonly handshakeTimeout: number;
  readonly onerror: (error: Error) => void;
  /** How the server was reached before. */
  readonly cached: CachedEra | undefined;
  /**
   * Closes this if the attempt is aborted.
   *
   * @throws the reason if the attempt is already aborted.
   */
  readonly trying: <T extends { close(): Promise<void> }>(closable: T) => T;
}

/**
 * The options of a handshake.
 *
 * @param named the revision that the server listed. Default: the pinned revision, or else that of the caller.
 */
export function handshakeOptions(negotiation: Negotiation, named?: Revision): UpstreamOptions {
  const revision = named ?? negotiation.revision ?? negotiation.onBehalfOf;
  return { ...negotiation, revision: revision && REVISIONS[revision].era === 'legacy' ? revision : undefined };
}

/** Adds the era and route to a connected server. */
export function reached(upstream: Upstream, era: Era, route: UpstreamRoute): NegotiatedUpstream {
  return Object.assign(upstream, { era, route });
}
