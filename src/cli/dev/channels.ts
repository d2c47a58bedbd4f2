import type { Message } from '../../jsonrpc/message.ts';
import { checkMessage } from '../../jsonrpc/parse.ts';
import { BaseTransport } from '../../transport/base-transport.ts';
import type { Transport } from '../../transport/transport.ts';

/** What passes between two processes: connections open and close, and each message names its connection. */
export type Packet =
  | { readonly open: number }
  | { readonly connection: number; readonly message: Message }
  | { readonly close: number };

/** Sends a packet to the other process. Resolves when it is written. Rejects if the process has ended. */
export type Post = (packet: Packet) => Promise<void>;

/**
 * Any number of connections between two processes, over the one channel that Node gives them. Each connection is a
 * `Transport`. One end opens them, the other accepts them.
 */
export class Channels {
  readonly #post: Post;
  readonly #accept: ((transport: Transport) => void) | undefined;
  readonly #open = new Map<number, ChannelTransport>();
  #last = 0;
  #gone: Error | undefined;

  /** @param accept called with each connection that the other process opens. */
  constructor(post: Post, accept?: (transport: Transport) => void) {
    this.#post = post;
    this.#accept = accept;
  }

  /** Opens a connection. @param ready resolves when the other process accepts connections. */
  open(ready: Promise<void>): Transport {
    const id = (this.#last += 1);
    const opened = async (): Promise<void> => {
      await ready;
      if (this.#gone) throw this.#gone;
      await this.#post({ open: id });
    };
    return this.#add(id, opened());
  }

  /** Handles what the other process has sent. Ignores anything that is no packet. */
  receive(packet: Packet): void {
    if ('open' in packet) this.#accept?.(this.#add(packet.open, Promise.resolve()));
    else if ('close' in packet) this.#open.get(packet.close)?.finish();
    else if ('connection' in packet) this.#open.get(packet.connection)?.receive(packet.message);
  }

  /** Closes all connections, because the other process has ended. */
  end(reason: Error): void {
    this.#gone = reason;
    for (const transport of this.#open.values()) transport.finish(reason);
  }

  #add(id: number, opened: Promise<void>): ChannelTransport {
    const transport = new ChannelTransport(id, this.#post, opened, () => this.#open.delete(id));
    this.#open.set(id, transport);
    return transport;
  }
}

class ChannelTransport extends BaseTransport implements Transport {
  closeReason: Error | undefined;
  readonly #id: number;
  readonly #post: Post;
  readonly #opened: Promise<void>;
  readonly #release: () => void;
  /** Messages from before `start`. */
  #waiting: Message[] | undefined = [];
  #started = false;
  #closed = false;

  constructor(id: number, post: Post, opened: Promise<void>, release: () => void) {
    super();
    this.#id = id;
    this.#post = post;
    this.#opened = opened;
    opened.catch(() => {});
    this.#release = release;
  }

  async start(): Promise<void> {
    if (this.#started) throw new Error('The transport has already been started');
    if (this.#closed) throw this.closeReason ?? new Error('The connection is closed');
    this.#started = true;
    await this.#opened;
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const message of waiting) if (!this.#closed) this.callOnmessage(message);
  }

  async send(message: Message): Promise<void> {
    if (this.#closed) throw this.closeReason ?? new Error('The connection is closed');
    await this.#post({ connection: this.#id, message: checkMessage(message) });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.finish();
    // If the other process has ended, it needs no packet.
    await this.#opened.then(() => this.#post({ close: this.#id })).catch(() => {});
  }

  receive(message: Message): void {
    if (this.#waiting) this.#waiting.push(message);
    else if (!this.#closed) this.callOnmessage(message);
  }

  /** The connection has closed. */
  finish(reason?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.closeReason = reason;
    this.#release();
    this.guard(() => this.onclose?.());
  }
}
