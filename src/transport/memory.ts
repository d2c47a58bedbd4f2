/**
 * Two transports joined in memory.
 *
 * @module
 */
import type { Message } from '../jsonrpc/message.ts';
import { checkMessage } from '../jsonrpc/parse.ts';
import { BaseTransport } from './base-transport.ts';
import type { Transport } from './transport.ts';

/**
 * Two transports joined in memory, for tests and for servers in the same process.
 *
 * Messages are passed by reference, not copied: neither the sender nor the receiver may change a message afterwards.
 * They arrive in order, after the code that sent them has run. Messages sent before `close` still arrive if the other
 * end is started. `send` rejects anything that is not a JSON-RPC message.
 */
export function memoryTransportPair(): [Transport, Transport] {
  const a = new MemoryTransport();
  const b = new MemoryTransport();
  a.join(b);
  b.join(a);
  return [a, b];
}

class MemoryTransport extends BaseTransport implements Transport {
  #peer!: MemoryTransport;
  #queue: Message[] = [];
  #started = false;
  #scheduled = false;
  /** `shut`: nothing can be sent any more. `closed`: `onclose` has been called too. */
  #phase: 'open' | 'shut' | 'closed' = 'open';

  join(peer: MemoryTransport): void {
    this.#peer = peer;
  }

  start(): Promise<void> {
    if (this.#phase !== 'open') return Promise.reject(new Error('The connection is closed'));
    if (this.#started) return Promise.reject(new Error('The transport has already been started'));
    this.#started = true;
    if (this.#queue.length > 0) this.#schedule();
    return Promise.resolve();
  }

  send(message: Message): Promise<void> {
    if (this.#phase !== 'open') return Promise.reject(new Error('The connection is closed'));
    try {
      // There is no parser between the two ends, so invalid messages must be rejected here.
      this.#peer.#queue.push(checkMessage(message));
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#peer.#started) this.#peer.#schedule();
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const peer = this.#peer;
    if (peer.#phase === 'open') peer.#phase = 'shut';
    this.#queue = [];
    this.#finish();
    // The peer first receives the messages that are already sent.
    await Promise.resolve();
    peer.#deliver();
    peer.#finish();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    this.#scheduled = false;
    if (!this.#started) return;
    // Messages that are sent meanwhile are delivered later, so two ends that answer each other do not block other code.
    const messages = this.#queue;
    this.#queue = [];
    for (const message of messages) {
      if (this.#phase === 'closed') return;
      this.callOnmessage(message);
    }
  }

  #finish(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#queue = [];
    this.guard(() => this.onclose?.());
  }
}
