import { FewPerTurn } from '../../../../base/few-per-turn.ts';
import { PART_OF_ONE, ShareCounts, shareOf } from '../../../../base/share.ts';
import { RpcError } from '../../../../jsonrpc/errors.ts';
import { isNotification, isRequest, type Message, type Notification } from '../../../../jsonrpc/message.ts';
import { invalidRequest } from '../../../../jsonrpc/parse.ts';
import { profileOf } from '../../../../protocol/revisions.ts';
import type { RequestListener } from '../../../transport.ts';
import type { HttpCall } from '../call.ts';
import { Endpoint, type EndpointOptions } from '../endpoint.ts';
import { CallExtra } from '../extra.ts';
import { NO_HEADERS, refuse, tooManyRequests } from '../access/refusals.ts';
import { StatelessReply } from './stateless-reply.ts';

/** Whether a call names a revision without sessions in its header. */
export function namesStateless(call: HttpCall): boolean {
  const version = call.header('mcp-protocol-version');
  return version !== undefined && profileOf(version)?.era === 'modern';
}

/**
 * The endpoint of revisions without sessions: each POST carries one independent message (2026-07-28, transports:
 * Streamable HTTP). `Mcp-Session-Id` and `Last-Event-ID` are ignored.
 */
export class StatelessEndpoint extends Endpoint {
  readonly #onrequest: RequestListener;
  readonly #maxRequests: number;
  readonly #counts = new ShareCounts();
  #inFlight = 0;
  /** Ends the requests whose callers have left. */
  readonly #ends = new FewPerTurn();

  /** @param maxRequests the most requests in flight, subscriptions included. */
  constructor(options: EndpointOptions, onrequest: RequestListener, maxRequests: number) {
    super(options);
    this.#onrequest = onrequest;
    this.#maxRequests = maxRequests;
  }

  /** The number of requests in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** @throws InvalidMessage if it is refused. */
  take(call: HttpCall, message: Message | readonly unknown[]): void {
    if (!('jsonrpc' in message)) throw invalidRequest('a body must be one message: this revision has no batches');
    if (isNotification(message)) return this.#notification(call, message);
    if (!isRequest(message))
      return refuse(call, 400, 'A client must not send responses: send the answers with a retry of the request');
    const share = shareOf(call);
    if (this.#inFlight >= this.#maxRequests || this.#counts.of(share) >= this.#maxRequests * PART_OF_ONE)
      return tooManyRequests(call, message.id);
    this.#inFlight += 1;
    this.#counts.add(share);
    const reply = new StatelessReply(call, this.options, this.#ends, () => {
      this.#inFlight -= 1;
      this.#counts.remove(share);
    });
    this.#onrequest(message, new CallExtra(call), reply);
  }

  /**
   * A notification that is not accepted MUST be answered with an error status (2026-07-28, transports: Sending
   * Messages, 5).
   */
  #notification(call: HttpCall, message: Notification): void {
    try {
      this.#onrequest(message, new CallExtra(call), undefined);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return refuse(call, 400, error.message);
    }
    call.respond(202, NO_HEADERS);
  }
}
