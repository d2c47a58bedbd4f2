import type { Exchange } from '../../../core/exchange.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';

/** The error of a question for which no call is left. */
export const allEnded = (): RpcError =>
  new RpcError(ErrorCode.InvalidRequest, 'All calls that may have asked this have ended');

/**
 * Assigns a legacy server's unattributed messages to a call, on a connection that several clients share. Over stdio
 * this is every message. Over Streamable HTTP it is every message that does not come on the stream of a call.
 */
export interface Attribution {
  /** Whether the calls come from several clients. Then a question on the stream of a call that has ended is refused. */
  readonly shared?: boolean;
  /**
   * Returns the call that a question belongs to, or another call of the same client.
   *
   * @param signal fires when the server cancels the question.
   * @param params of the question. They may name a task.
   * @param last the call that was to carry the question, and ended before it did. The question goes to the same client.
   * @throws RpcError −32603, sent to the server, when the call cannot be known.
   */
  question(signal: AbortSignal, method: string, params: JsonObject, last?: Exchange): Exchange | Promise<Exchange>;
  /** A call goes to the server. Questions that came before it can now be asked through it. */
  began?(exchange: Exchange): void;
  /**
   * A call was cancelled, has timed out, or failed with an error without an id. Returns a function to call when the
   * server has answered it, and asks no more questions for it. The function must not keep the call's parameters in memory.
   */
  cancelled?(exchange: Exchange): (() => void) | undefined;
  /** The call that a log message belongs to. Undefined if it could belong to several clients. */
  message(): Exchange | undefined;
}
