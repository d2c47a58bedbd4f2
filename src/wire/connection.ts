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
import { IdleWaiters } from '../core/idle.ts';
import { Notice } from '../protocol/methods.ts';
import { saysItsRevision } from '../protocol/own-revision.ts';
import { TAKEN, type MessageExtra, type ReplyChannel, type Transport } from '../transport/transport.ts';
import { LegacyInbound, type LegacyInboundOptions } from './legacy/inbound.ts';
import type { TotalLoad } from './legacy/total-load.ts';
import type { ModernInbound } from './modern/inbound.ts';

/** Requests of a connection that say their revision themselves and are being answered. */
const MAX_IN_FLIGHT = 10_000;
const MAX_BYTES_IN_FLIGHT = 64 * 1024 * 1024;

export interface ConnectionOptions extends LegacyInboundOptions {
  readonly onerror: (error: Error) => void;
  /** Serves messages that say their revision themselves; undefined where none are served. */
  readonly modern: ModernInbound | undefined;
  /** Whether handshakes are served. */
  readonly legacy: boolean;
  /** What all connections have in flight. */
  readonly total: TotalLoad;
  /** What the sessions of all connections are subscribed to. */
  readonly subscribed: TotalLoad;
  readonly onclose: (connection: Connection) => void;
}

/**
 * One connection, with whoever is at its other end: each message goes to the side of its era. A client may speak both
 * (2026-07-28, versioning: Backward Compatibility), and what it says in one does not concern the other.
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

  /** Waits at most `timeout` milliseconds for requests in flight, answers the rest with an error, and closes the connection. */
  async close(timeout: number): Promise<void> {
    if (this.#busy && timeout > 0) await this.#idle.wait(timeout);
    this.#legacy?.giveUp(new RpcError(CONNECTION_CLOSED, 'The server is shutting down'));
    await this.#transport.close();
  }

  get #busy(): boolean {
    return this.#replies.size > 0 || (this.#legacy?.inFlight ?? 0) > 0;
  }

  /** A request of either side is over. */
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
      // An answer under this id would be taken for the first one's: it carries none.
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

  /** Whether a message cancels a request that said its revision itself; one that does is done with. */
  #cancel(message: Message): boolean {
    if (!('method' in message) || message.method !== Notice.Cancelled) return false;
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

/** The way back for a request that shares its connection with others. */
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
      // A result that cannot be written as JSON still has a caller who waits.
      if ('result' in response) this.answer(errorResponse(response.id, RpcError.from(error).toObject()));
    });
  }

  cancel(reason?: string): void {
    this.#done();
    const { onclose } = this;
    this.onclose = undefined;
    onclose?.(reason);
  }

  /** A response that could not be written is followed by another; the request was over with the first. */
  #done(): void {
    const ondone = this.#ondone;
    this.#ondone = undefined;
    ondone?.();
  }
}
