import type { Exchange } from '../../../core/exchange.ts';

/**
 * Assigns a legacy server's unattributed messages to a call, on a connection that several clients share. Over stdio
 * this is every message. Over Streamable HTTP it is every message that does not come on the stream of a call.
 */
export interface Attribution {
  /**
   * Returns the call that a question belongs to, or another call of the same client.
   *
   * @param signal fires when the server cancels the question.
   * @throws RpcError −32603, sent to the server, when the call cannot be known.
   */
  question(signal: AbortSignal, method: string): Exchange | Promise<Exchange>;
  /** A call goes to the server. Questions that came before it can now be asked through it. */
  began?(exchange: Exchange): void;
  /** The server has answered a cancelled call and asks no more questions for it. */
  over(exchange: Exchange): void;
  /** The call that a log message belongs to. Undefined if it could belong to several clients. */
  message(): Exchange | undefined;
}
