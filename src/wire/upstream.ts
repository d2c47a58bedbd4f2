import type { TimeLimits } from '../base/deadline.ts';
import type { Service } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { DiscoverResult, Implementation } from '../protocol/types.ts';

/** A connected server of either era. */
export interface Upstream {
  /**
   * The server as a function. It uses the newest revision's vocabulary, and translates to the server's own. A server of
   * 2026-07-28 may return `input_required`; `completeRounds` converts that into questions.
   */
  readonly service: Service;
  readonly revision: Revision;
  readonly discovered: DiscoverResult;
  readonly closed: boolean;
  /** Why the connection was lost, if that is known. */
  readonly closeReason?: Error | undefined;
  /**
   * Called once when the connection has closed. Never called for a server without sessions, which has no lasting
   * connection.
   */
  onclose: (() => void) | undefined;
  close(): Promise<void>;
}

/** How a server is connected and called, in either era. */
export interface UpstreamOptions {
  readonly clientInfo: Implementation;
  /**
   * Which kinds of questions the server may ask. Default: none in a handshake; in requests of 2026-07-28, what the
   * caller of each exchange declared.
   */
  readonly capabilities?: JsonObject | undefined;
  /** The one revision to ask for. Default: the newest that both sides speak. */
  readonly revision?: Revision | undefined;
  /**
   * How long a request waits for its response. Progress restarts the time. Milliseconds, default 10 minutes; 0 for no
   * limit.
   */
  readonly timeout?: number | undefined;
  /** The longest time for a request, whatever its progress. Milliseconds, default 1 hour; 0 for no limit. */
  readonly maxTimeout?: number | undefined;
  /**
   * How long a handshake may take, or the first request of 2026-07-28. Also the limit for each request that the
   * connection makes for itself: a resource subscription, the log level, a list of tools that is read for their
   * headers, and the acknowledgment of a subscription. Milliseconds, default 60 000; 0 for no limit.
   */
  readonly handshakeTimeout?: number | undefined;
  /** Receives errors that cannot be reported to a caller. Default: none. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** Options of a connection on which another era may have been tried before. */
export interface OpeningOptions extends UpstreamOptions {
  /** How long the first request may take. Milliseconds; 0 for no limit. Default `handshakeTimeout`. */
  readonly openTimeout?: number | undefined;
  /** The last request id that was used on the connection. Default 0: none. */
  readonly lastId?: number | undefined;
}

/** The default of `handshakeTimeout`. */
export const HANDSHAKE_TIMEOUT = 60_000;

/** The limits of requests that callers make. */
export function limitsOf({ timeout = 600_000, maxTimeout = 3_600_000 }: UpstreamOptions): TimeLimits {
  return { timeout, maxTimeout };
}
