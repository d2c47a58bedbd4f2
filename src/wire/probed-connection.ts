import type { Message, RequestId, Response } from '../jsonrpc/message.ts';
import type { SendOptions, Transport } from '../transport/transport.ts';

/** A transport that can tell why it closed. */
export type ReasonedTransport = Transport & { readonly closeReason?: Error | undefined };

/**
 * One connection on which a server is spoken to in one era after the other, until one turns out to be its own. Each try
 * gets a transport of its own: it starts the connection where that was not done yet, and its end is not the end of the
 * connection unless that transport is kept.
 */
export class ProbedConnection {
  readonly #transport: ReasonedTransport;
  #current: ProbeTransport | undefined;
  #started: Promise<void> | undefined;
  #closed = false;
  /** The last request id that was used. */
  lastId = 0;
  /** A request that was abandoned. */
  #abandoned: RequestId | undefined;
  /** The response to it, which came late. */
  #late: Response | undefined;

  constructor(transport: ReasonedTransport) {
    this.#transport = transport;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get closeReason(): Error | undefined {
    return this.#transport.closeReason;
  }

  get late(): Response | undefined {
    return this.#late;
  }

  /** Takes the place of the transport before it. */
  probe(): Transport {
    return new ProbeTransport(this.#transport, {
      attach: (probe) => this.#attach(probe),
      detach: (probe) => {
        if (this.#current === probe) this.#current = undefined;
      },
    });
  }

  /** The newest try has succeeded. Its transport is the connection from now on. */
  keep(): void {
    this.#current?.keep();
  }

  /** The response to this request must not be taken for the response to another. */
  abandon(id: RequestId): void {
    this.#abandoned = id;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #attach(probe: ProbeTransport): Promise<void> {
    if (this.#closed) return Promise.reject(this.closeReason ?? new Error('The connection is closed'));
    this.#current = probe;
    if (this.#started) return this.#started;
    const transport = this.#transport;
    transport.onmessage = (message: Message, extra) => this.#receive(message, extra);
    transport.onerror = (error) => this.#current?.onerror?.(error);
    transport.onclose = () => {
      this.#closed = true;
      this.#current?.onclose?.();
    };
    this.#started = transport.start();
    return this.#started;
  }

  #receive(message: Message, extra: unknown): void {
    if (this.#abandoned !== undefined && !('method' in message) && message.id === this.#abandoned) {
      this.#abandoned = undefined;
      this.#late = message;
      return;
    }
    this.#current?.onmessage?.(message, extra);
  }
}

interface ProbeOwner {
  attach(probe: ProbeTransport): Promise<void>;
  detach(probe: ProbeTransport): void;
}

class ProbeTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  readonly #transport: Transport;
  readonly #owner: ProbeOwner;
  #kept = false;

  constructor(transport: Transport, owner: ProbeOwner) {
    this.#transport = transport;
    this.#owner = owner;
  }

  start(): Promise<void> {
    return this.#owner.attach(this);
  }

  send(message: Message, options?: SendOptions): Promise<void> {
    return this.#transport.send(message, options);
  }

  close(): Promise<void> {
    if (this.#kept) return this.#transport.close();
    this.#owner.detach(this);
    return Promise.resolve();
  }

  setProtocolVersion(version: string): void {
    this.#transport.setProtocolVersion?.(version);
  }

  keep(): void {
    this.#kept = true;
  }
}
