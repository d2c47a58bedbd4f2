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
  /** What came before this end was started. */
  #early: Message[] = [];
  #started = false;
  /** `shut`: nothing can be sent any more. `closed`: `onclose` has been called too. */
  #phase: 'open' | 'shut' | 'closed' = 'open';

  join(peer: MemoryTransport): void {
    this.#peer = peer;
  }

  start(): Promise<void> {
    if (this.#phase !== 'open') return Promise.reject(new Error('The connection is closed'));
    if (this.#started) return Promise.reject(new Error('The transport has already been started'));
    this.#started = true;
    for (const message of this.#early.splice(0)) this.#receive(message);
    return Promise.resolve();
  }

  send(message: Message): Promise<void> {
    if (this.#phase !== 'open') return Promise.reject(new Error('The connection is closed'));
    try {
      // There is no parser between the two ends, so invalid messages must be rejected here.
      this.#peer.#receive(checkMessage(message));
    } catch (error) {
      return Promise.reject(error);
    }
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const peer = this.#peer;
    if (peer.#phase === 'open') peer.#phase = 'shut';
    this.#finish();
    // The peer first receives the messages that are already sent.
    await Promise.resolve();
    peer.#finish();
  }

  #receive(message: Message): void {
    if (!this.#started) return void this.#early.push(message);
    // Each on its own, so that it arrives in the asynchronous context of its sender. Fake timers of tests replace
    // `queueMicrotask`, but not promises.
    void Promise.resolve().then(() => {
      if (this.#phase !== 'closed') this.callOnmessage(message);
    });
  }

  #finish(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#early = [];
    this.guard(() => this.onclose?.());
  }
}
