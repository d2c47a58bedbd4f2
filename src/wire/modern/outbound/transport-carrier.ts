import { printableError } from '../../../base/printable.ts';
import { RpcError } from '../../../jsonrpc/errors.ts';
import { IdTable } from '../../../jsonrpc/id-table.ts';
import {
  errorResponse,
  notification,
  resultResponse,
  type Message,
  type Notification,
  type RequestId,
  type Response,
} from '../../../jsonrpc/message.ts';
import { connectionClosed, unexpectedResponse } from '../../../jsonrpc/pending.ts';
import { KNOWN_NOTICES, Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import type { CarriedRequest, Carrier } from '../../../transport/carrier.ts';
import type { MessageExtra, Transport } from '../../../transport/transport.ts';
import { Newest } from '../../../base/newest.ts';
import { Recent } from '../../../base/recent.ts';
import { quoting } from '../../../base/short-text.ts';

export interface TransportCarrierOptions {
  /** The last request id that was already used on this connection. Default 0: none. */
  readonly lastId?: number;
  /** Called with errors about messages that belong to no request. Default: they are ignored. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

interface Entry {
  readonly request: CarriedRequest;
  readonly token: unknown;
  readonly resolve: (response: Response) => void;
  readonly reject: (error: unknown) => void;
  readonly oncancel: () => void;
}

/**
 * Carries requests of 2026-07-28 over a shared connection: stdio, memory, or any other transport. A response is matched
 * by its id, progress by its token, and a subscription's notifications by the subscription id (2026-07-28,
 * transports/stdio: Receiving Messages).
 *
 * On such a connection, a log message names no request. It goes to a request that asked for log messages: to the newest
 * `tools/call` among them, or else to the newest of them. An unknown notification goes to the only request in flight.
 * If there are several, it is reported and dropped.
 */
export class TransportCarrier implements Carrier {
  readonly mirrorsHeaders = false;
  onclose: Carrier['onclose'];
  readonly #transport: Transport;
  readonly #onerror: (error: Error) => void;
  /** Oldest first. */
  readonly #entries = new IdTable<RequestId, Entry>();
  /** The requests in flight except subscriptions, those that want log messages, and the tool calls among those. */
  readonly #newest = {
    requests: new Newest<RequestId>(),
    logged: new Newest<RequestId>(),
    tools: new Newest<RequestId>(),
  };
  /** Requests in flight by their progress tokens. */
  readonly #tokens = new Map<unknown, RequestId>();
  /** Requests that were cancelled and subscriptions that ended recently. Late messages about them are ignored. */
  readonly #recentlyEnded = { requests: new Recent(), tokens: new Recent() };
  #lastId: number;
  #closed: Error | undefined;
  /** Whether this side ends the connection, so that its requests end without a message. */
  #closing = false;

  constructor(transport: Transport, options: TransportCarrierOptions = {}) {
    this.#transport = transport;
    this.#onerror = options.onerror ?? (() => {});
    this.#lastId = options.lastId ?? 0;
  }

  get closeReason(): Error | undefined {
    return this.#transport.closeReason;
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** Sets the transport's callbacks and starts it. @throws what its `start` throws. */
  start(): Promise<void> {
    const transport = this.#transport;
    transport.onmessage = (message: Message, extra?: MessageExtra) => this.#receive(message, extra?.cause);
    transport.onerror = this.#onerror;
    transport.onclose = () => this.#close();
    return transport.start();
  }

  close(): Promise<void> {
    this.#closing = true;
    return this.#transport.close();
  }

  request(request: CarriedRequest): Promise<Response> {
    const { method, params, lifetime } = request;
    if (lifetime.ended) return Promise.reject(lifetime.ended);
    if (this.#closed) return Promise.reject(this.#closed);
    const id = ++this.#lastId;
    return new Promise<Response>((resolve, reject) => {
      const oncancel = (): void => this.#cancel(id, lifetime.ended);
      const token: unknown = params['_meta']?.[Meta.ProgressToken];
      this.#entries.set(id, { request, token, resolve, reject, oncancel });
      this.#begun(id, request);
      if (token !== undefined) this.#tokens.set(token, id);
      lifetime.onAbort(oncancel);
      this.#transport
        .send({ jsonrpc: '2.0', id, method, params })
        .catch((error: unknown) => this.#take(id)?.reject(error));
    });
  }

  #cancel(id: RequestId, thrown: unknown): void {
    const entry = this.#take(id);
    if (!entry) return;
    this.#recentlyEnded.requests.add(id);
    if (entry.token !== undefined) this.#recentlyEnded.tokens.add(entry.token);
    entry.reject(thrown);
    // A peer that did not answer the probe may not speak this revision, and would not understand the notification.
    if (this.#closing || this.#closed || entry.request.method === Method.Discover) return;
    const { message: reason } = RpcError.from(thrown);
    this.#transport.send(notification(NotificationMethod.Cancelled, { requestId: id, reason })).catch(this.#onerror);
  }

  #take(id: RequestId): Entry | undefined {
    const entry = this.#entries.get(id);
    if (!entry) return undefined;
    this.#entries.delete(id);
    for (const newest of Object.values(this.#newest)) newest.delete(id);
    if (entry.token !== undefined) this.#tokens.delete(entry.token);
    entry.request.lifetime.offAbort(entry.oncancel);
    return entry;
  }

  #receive(message: Message, cause: Error | undefined): void {
    if (!('method' in message)) return this.#settle(message, cause);
    if (!('id' in message)) return this.#notice(message);
    // A client MUST NOT write responses (2026-07-28, transports/stdio: Sending Messages).
    this.#onerror(printableError(quoting`The server sent ${message.method}, which is not allowed; it was ignored`));
  }

  /** @param cause why the transport created this error response itself, in place of the peer's response. */
  #settle(response: Response, cause: Error | undefined): void {
    // An error without an id means that the server did not understand a message. If one request is in flight, the error
    // answers it.
    const id = response.id ?? (this.#entries.size === 1 ? this.#entries.keys()[0] : undefined);
    const entry = id === undefined ? undefined : this.#take(id);
    if (entry && cause && 'error' in response) {
      return entry.reject(new RpcError(response.error.code, response.error.message, { cause }));
    }
    if (entry) return entry.resolve('error' in response ? errorResponse(id, response.error) : response);
    if (this.#recentlyEnded.requests.has(response.id)) return;
    this.#onerror(unexpectedResponse(response));
  }

  #notice(message: Notification): void {
    const { method, params = {} } = message;
    switch (method) {
      case NotificationMethod.Progress:
        return this.#deliver(message, this.#tokens.get(params['progressToken']), params['progressToken']);
      case NotificationMethod.Message:
        return this.#deliver(message, this.#logged(), undefined);
      case NotificationMethod.Cancelled:
        return this.#ended(message);
      default: {
        const id: RequestId | undefined = params['_meta']?.[Meta.SubscriptionId];
        return this.#deliver(message, id ?? this.#only(method), id);
      }
    }
  }

  /** The server ends a subscription with this. A response may have come before, or may follow. */
  #ended({ params = {} }: Notification): void {
    const id: RequestId = params['requestId'];
    if (this.#entries.get(id)?.request.method !== Method.Listen) return;
    this.#take(id)!.resolve(resultResponse(id, {}));
    this.#recentlyEnded.requests.add(id);
  }

  #deliver(message: Notification, id: RequestId | undefined, name: unknown): void {
    const entry = id === undefined ? undefined : this.#entries.get(id);
    if (entry) return entry.request.onnotification(message);
    if (name !== undefined && this.#wasGivenUp(message.method, name)) return;
    this.#onerror(printableError(quoting`${message.method} was ignored: it belongs to no request in flight`));
  }

  #wasGivenUp(method: string, name: unknown): boolean {
    const { requests, tokens } = this.#recentlyEnded;
    return (method === NotificationMethod.Progress ? tokens : requests).has(name);
  }

  /**
   * The request that an unknown notification belongs to. A server only sends messages that relate to a request in
   * flight (2026-07-28, transports/stdio: Receiving Messages), so it belongs to the only one that is not a
   * subscription.
   */
  #only(method: string): RequestId | undefined {
    const { requests } = this.#newest;
    return KNOWN_NOTICES.has(method) || requests.size !== 1 ? undefined : requests.last;
  }

  #logged(): RequestId | undefined {
    const { logged, tools } = this.#newest;
    return tools.last ?? logged.last;
  }

  #begun(id: RequestId, { method, params }: CarriedRequest): void {
    if (method === Method.Listen) return;
    this.#newest.requests.add(id);
    if (params['_meta']?.[Meta.LogLevel] === undefined) return;
    this.#newest.logged.add(id);
    if (method === Method.CallTool) this.#newest.tools.add(id);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = connectionClosed(this.closeReason);
    for (const id of this.#entries.keys()) this.#take(id)?.reject(this.#closed);
    this.onclose?.();
  }
}
