import { RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Service } from '../core/exchange.ts';
import type { FewPerTurn } from '../base/few-per-turn.ts';
import { Waiters } from '../base/waiters.ts';
import { NotificationMethod } from '../protocol/methods.ts';
import { saysItsRevision } from '../protocol/own-revision.ts';
import type { MessageExtra, Transport } from '../transport/transport.ts';
import { LegacyInbound, type LegacyInboundOptions } from './legacy/inbound/inbound.ts';
import type { ModernInbound } from './modern/inbound/inbound.ts';
import { RequestsInFlight } from './requests-in-flight.ts';
import type { TotalLoad } from './total-load.ts';

export interface ConnectionOptions extends LegacyInboundOptions {
  /** Serves messages that name their revision themselves. Undefined if these are not served. */
  readonly modern: ModernInbound | undefined;
  /** Whether handshakes are served. */
  readonly legacy: boolean;
  /** Counts the requests in flight of all connections. */
  readonly total: TotalLoad;
  /** Ends the requests that their clients no longer wait for, of all connections. */
  readonly ends: FewPerTurn;
  readonly onclose: (connection: Connection) => void;
}

/**
 * One connection to one peer. Each message goes to the handler of its era. A client may use both eras (2026-07-28,
 * versioning: Backward Compatibility).
 */
export class Connection {
  readonly #transport: Transport;
  readonly #options: ConnectionOptions;
  readonly #legacy: LegacyInbound | undefined;
  readonly #requests: RequestsInFlight;
  readonly #idle = new Waiters();

  constructor(service: Service, transport: Transport, options: ConnectionOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#requests = new RequestsInFlight(transport, options.total, options.ends, options.onerror);
    this.#requests.onidle = () => this.#idle.wake();
    this.#legacy = options.legacy ? new LegacyInbound(service, transport, this.#requests, options) : undefined;
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
    if (this.#requests.size > 0 && timeout > 0) await this.#idle.wait({ timeout });
    await this.#requests.cancelAll(new RpcError(CONNECTION_CLOSED, 'The server is shutting down'));
    await this.#transport.close();
  }

  #receive(message: Message, extra: MessageExtra | undefined): void {
    const { modern, onerror } = this.#options;
    const legacy = this.#legacy;
    if (!('method' in message)) {
      if (legacy) legacy.response(message, extra?.bytes);
      else onerror(new Error('A response was ignored, because no request was sent'));
      return;
    }
    const side = modern && (!legacy || saysItsRevision(message)) ? modern : legacy;
    if ('id' in message) {
      const request = this.#requests.accept(message, extra?.bytes);
      if (request) side?.request(message, extra, request);
      return;
    }
    const { requestId, reason } = message.params ?? {};
    if (message.method !== NotificationMethod.Cancelled || !this.#requests.cancel(requestId, reason)) {
      side?.notification(message, extra);
    }
  }

  /** Servers SHOULD exit promptly when their input ends (2026-07-28, transports/stdio: Shutdown). */
  #end(): void {
    this.#legacy?.end();
    if (this.#requests.size > 0) this.#options.modern?.endSubscriptions(new Set(this.#requests.values()));
  }

  #closed(): void {
    this.#legacy?.close();
    this.#requests.close();
    this.#options.onclose(this);
  }
}
