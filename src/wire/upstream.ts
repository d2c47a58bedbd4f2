import type { Service } from '../core/exchange.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { DiscoverResult } from '../protocol/types.ts';

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
   * Called once when the connection has closed. Never called without a session, because there is no lasting connection
   * then.
   */
  onclose: (() => void) | undefined;
  close(): Promise<void>;
}
