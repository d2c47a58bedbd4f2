import { RpcError } from '../../../../jsonrpc/errors.ts';
import { isNotification, isRequest, type Notification } from '../../../../jsonrpc/message.ts';
import { checkMessage, invalidRequest } from '../../../../jsonrpc/parse.ts';
import { profileOf } from '../../../../protocol/revisions.ts';
import type { RequestListener } from '../../../transport.ts';
import type { HttpCall } from '../call.ts';
import { Endpoint, type EndpointOptions } from '../endpoint.ts';
import { CallExtra } from '../extra.ts';
import type { ReplyDeadlines } from '../streamable/reply-deadlines.ts';
import { NO_HEADERS, refuse, tooManyRequests } from '../access/refusals.ts';
import { StatelessReply, type StatelessReplyOptions } from './stateless-reply.ts';

export interface StatelessEndpointOptions extends EndpointOptions {
  readonly onrequest: RequestListener;
  readonly grace: ReplyDeadlines;
  /** The most requests in flight, subscriptions included. */
  readonly maxRequests: number;
}

/** Whether a call names a revision without sessions in its header. */
export function namesStateless(call: HttpCall): boolean {
  const version = call.header('mcp-protocol-version');
  return version !== undefined && profileOf(version)?.era === 'modern';
}

/**
 * The endpoint of revisions without sessions: each POST carries one independent message (2026-07-28, transports:
 * Streamable HTTP). `Mcp-Session-Id` and `Last-Event-ID` are ignored.
 */
export class StatelessEndpoint extends Endpoint<StatelessEndpointOptions> {
  readonly #reply: StatelessReplyOptions;
  readonly #open = new Set<StatelessReply>();

  constructor(options: StatelessEndpointOptions) {
    super(options);
    const { grace, connections, onerror } = options;
    this.#reply = {
      grace,
      connections,
      onerror,
      onend: (reply) => this.#open.delete(reply),
    };
  }

  /** The number of requests in flight. */
  get inFlight(): number {
    return this.#open.size;
  }

  /** @throws InvalidMessage if it is refused. */
  take(call: HttpCall, value: unknown): void {
    const { onrequest, maxRequests } = this.options;
    if (Array.isArray(value)) throw invalidRequest('a body must be one message: this revision has no batches');
    const message = checkMessage(value);
    if (isNotification(message)) return this.#notification(call, message);
    if (!isRequest(message)) return refuse(call, 400, 'A client must not send responses: retry the request with them');
    if (this.#open.size >= maxRequests) return tooManyRequests(call, message.id);
    const reply = new StatelessReply(call, this.#reply);
    this.#open.add(reply);
    onrequest(message, new CallExtra(call), reply);
  }

  /**
   * A notification that is not accepted MUST be answered with an error status (2026-07-28, transports: Sending
   * Messages, 5).
   */
  #notification(call: HttpCall, message: Notification): void {
    try {
      this.options.onrequest(message, new CallExtra(call), undefined);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return refuse(call, 400, error.message);
    }
    call.respond(202, NO_HEADERS);
  }
}
