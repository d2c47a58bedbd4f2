import type { Service } from '../core/exchange.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { DiscoverResult } from '../protocol/types.ts';

/** A server that was connected to, of either era. */
export interface Upstream {
  /**
   * The server as a function. It speaks the newest revision's vocabulary: what its own has not is translated. A result may
   * be `input_required` where the server is one of 2026-07-28; `completeRounds` makes questions of it.
   */
  readonly service: Service;
  readonly revision: Revision;
  readonly discovered: DiscoverResult;
  readonly closed: boolean;
  /** Why the connection was lost, where that is known. */
  readonly closeReason?: Error | undefined;
  /** Called once when the connection is over. Without a session there is no connection that could be. */
  onclose: (() => void) | undefined;
  close(): Promise<void>;
}
