import type { Exchange } from '../../core/exchange.ts';

/**
 * Says whose something is that a server of a handshake revision sent without saying to which call it belongs: over stdio
 * nothing does, and over Streamable HTTP what does not come on the stream of a call.
 */
export interface Attribution {
  /**
   * Whose a question is. Undefined where no call is in flight that it could be of: then it goes to whoever began to listen
   * last, if anybody does.
   *
   * @param signal fires when the server does not ask any more.
   * @throws RpcError for the server, where nobody can know.
   */
  question(signal: AbortSignal): Exchange | undefined | Promise<Exchange | undefined>;
  /** The server has answered a call that was given up: it asks nothing more for it. */
  over(exchange: Exchange): void;
  /** Whose a log message is; undefined where it could be anybody's. */
  message(): Exchange | undefined;
}
