import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { IdTable } from '../jsonrpc/id-table.ts';
import {
  errorResponse,
  type Message,
  type Notification,
  type Request,
  type RequestId,
  type Response,
} from '../jsonrpc/message.ts';
import type { Service } from '../core/exchange.ts';
import { IdleWaiters } from '../base/idle.ts';
import { NotificationMethod } from '../protocol/methods.ts';
import { saysItsRevision } from '../protocol/own-revision.ts';
import { TAKEN, type MessageExtra, type ReplyChannel, type Transport } from '../transport/transport.ts';
import { LegacyInbound, type LegacyInboundOptions } from './legacy/inbound/inbound.ts';
import type { TotalLoad } from './legacy/inbound/total-load.ts';
import type { ModernInbound } from './modern/inbound/inbound.ts';

/** The most requests in flight of one connection that name their revision themselves. */
const MAX_IN_FLIGHT = 10_000;
const MAX_BYTES_IN_FLIGHT = 64 * 1024 * 1024;

export interface ConnectionOptions extends LegacyInboundOptions {
  readonly onerror: (error: Error) => void;
  /** Serves messages that name their revision themselves. Undefined if these are not served. */
  readonly modern: ModernInbound | undefined;
  /** Whether handshakes are served. */
  readonly legacy: boolean;
  /** Counts the requests in flight of all connections. */
  readonly total: TotalLoad;
  /** Counts the subscriptions of the sessions of all connections. */
  readonly subscribed: TotalLoad;
  readonly onclose: (connection: Connection) => void;
}

/**
 * One connection to one peer. Each message goes to the side of its era. A client may speak both eras (2026-07-28,
 * versioning: Backward Compatibility). The two are independent.
 */
export class Connection {
  readonly #transport: Transport;
  readonly #options: ConnectionOptions;
  readonly #legacy: LegacyInbound | undefined;
  readonly #replies = new IdTable<RequestId, ConnectionReply>();
  #bytes = 0;
  readonly #idle = new IdleWaiters();

  constructor(service: Service, transport: Transport, options: ConnectionOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#legacy = options.legacy
      ? new LegacyInbound(service, transport, options, options.total, options.subscribed)
      : undefined;
    if (this.#legacy) this.#legacy.onidle = this.#settled;
  }

  start(): Promise<void> {
    const transport = this.#transport;
    transport.onmessage = (message: Message, extra?: MessageExtra) => this.#receive(message, extra);
    transport.onerror = this.#options.onerror;
    transport.onend = () => this.#end();
    transport.onclose = () => this.#closed();
    return transport.start();
  }

  /**
   * Waits up to `timeout` milliseconds for requests in flight, answers the others with an error, and closes the
   * connection.
   */
  async close(timeout: number): Promise<void> {
    if (this.#busy && timeout > 0) await this.#idle.wait(timeout);
    this.#legacy?.giveUp(new RpcError(CONNECTION_CLOSED, 'The server is shutting down'));
    await this.#transport.close();
  }

  get #busy(): boolean {
    return this.#replies.size > 0 || (this.#legacy?.inFlight ?? 0) > 0;
  }

  /** Called when a request of either era has ended. */
  readonly #settled = (): void => {
    if (!this.#busy) this.#idle.settle();
  };

  #receive(message: Message, extra: MessageExtra | undefined): void {
    const { modern } = this.#options;
    if (modern && 'method' in message && (!this.#legacy || saysItsRevision(message))) {
      if ('id' in message) return this.#request(modern, message, extra);
      if (!this.#cancel(message)) modern.notification(message, extra);
      return;
    }
    if (this.#cancel(message)) return;
    if (this.#legacy) this.#legacy.receive(message, extra);
    else this.#options.onerror(new Error('A response came, and nothing was asked: it was ignored'));
  }

  #request(modern: ModernInbound, message: Request, extra: MessageExtra | undefined): void {
    const { id } = message;
    const bytes = extra?.bytes ?? 0;
    if (this.#replies.has(id)) {
      // This error carries no id, because the client would take it for the response to the first request with the same
      // id.
      return this.#refuse(undefined, `request id ${JSON.stringify(id)} is still in use`);
    }
    if (this.#replies.size >= MAX_IN_FLIGHT || (this.#bytes > 0 && this.#bytes + bytes > MAX_BYTES_IN_FLIGHT)) {
      return this.#refuse(id, 'too many requests are in flight; wait for some of them');
    }
    const reply = new ConnectionReply(this.#transport, id, this.#options.onerror, () => {
      this.#replies.delete(id);
      this.#bytes -= bytes;
      this.#settled();
    });
    this.#replies.set(id, reply);
    this.#bytes += bytes;
    modern.request(message, extra, reply);
  }

  /** Handles a cancellation of a request that named its revision itself. Returns whether the message was one. */
  #cancel(message: Message): boolean {
    if (!('method' in message) || message.method !== NotificationMethod.Cancelled) return false;
    const { requestId, reason } = message.params ?? {};
    const reply = this.#replies.get(requestId);
    reply?.cancel(typeof reason === 'string' ? reason : undefined);
    return reply !== undefined;
  }

  #refuse(id: RequestId | undefined, why: string): void {
    const error = { code: ErrorCode.InvalidRequest, message: `Invalid request: ${why}` };
    this.#transport.send(errorResponse(id, error)).catch(this.#options.onerror);
  }

  /** Servers SHOULD exit promptly when their input ends (2026-07-28, transports/stdio: Shutdown). */
  #end(): void {
    this.#legacy?.end();
    if (this.#replies.size > 0) this.#options.modern?.endSubscriptions(new Set(this.#replies.values()));
  }

  #closed(): void {
    for (const reply of this.#replies.values()) reply.cancel('the connection is closed');
    this.#legacy?.close();
    this.#settled();
    this.#options.onclose(this);
  }
}

/** Sends the responses of a request that shares its connection with others. */
class ConnectionReply implements ReplyChannel {
  onclose: ReplyChannel['onclose'];
  readonly #transport: Transport;
  readonly #id: RequestId;
  readonly #onerror: (error: Error) => void;
  #ondone: (() => void) | undefined;

  constructor(transport: Transport, id: RequestId, onerror: (error: Error) => void, ondone: () => void) {
    this.#transport = transport;
    this.#id = id;
    this.#onerror = onerror;
    this.#ondone = ondone;
  }

  notify(message: Notification): Promise<void> {
    const sent = this.#transport.send(message, { relatedRequestId: this.#id });
    if (sent !== TAKEN) sent.catch(this.#onerror);
    return sent;
  }

  answer(response: Response): void {
    this.#done();
    this.onclose = undefined;
    const sent = this.#transport.send(response);
    if (sent === TAKEN) return;
    sent.catch((error: unknown) => {
      this.#onerror(error as Error);
      // The result cannot be written as JSON. The caller still needs a response.
      if ('result' in response) this.answer(errorResponse(response.id, RpcError.from(error).toObject()));
    });
  }

  cancel(reason?: string): void {
    this.#done();
    const { onclose } = this;
    this.onclose = undefined;
    onclose?.(reason);
  }

  /** If a response could not be written, a second one follows. The request ended with the first. */
  #done(): void {
    const ondone = this.#ondone;
    this.#ondone = undefined;
    ondone?.();
  }
}
