import type { Exchange } from '../../core/exchange.ts';

/**
 * Assigns what a server of a handshake revision sends without naming a call, on a connection that several clients share:
 * everything over stdio, and over Streamable HTTP what does not come on the stream of a call.
 */
export interface Attribution {
  /**
   * The call that a question belongs to, or another of the same client.
   *
   * @param signal fires when the server takes the question back.
   * @throws RpcError −32603 for the server, where it cannot be known.
   */
  question(signal: AbortSignal, method: string): Exchange | Promise<Exchange>;
  /** A call goes to the server: questions that came before it can go out with it. */
  began?(exchange: Exchange): void;
  /** The server has answered a cancelled call: it asks nothing more for it. */
  over(exchange: Exchange): void;
  /** The call that a log message belongs to; undefined where it could belong to several clients. */
  message(): Exchange | undefined;
}
