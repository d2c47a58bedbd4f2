import { createServer, type Socket } from 'node:net';
import { bind } from '../../transport/http/server/bind.ts';
import type { WorkerSlot } from './worker-slot.ts';

/** The most connections that wait for a worker. Further ones are closed. */
const MAX_WAITING = 10_000;

/**
 * Accepts connections for all workers, and passes each to one of them, in turn. A worker gets the next connection when it has
 * confirmed the last one. If it ends before, another worker gets that.
 *
 * `node:cluster` would lose it: the connection would stay open, and nobody would answer.
 */
export class Connections {
  readonly #maxWaiting: number;
  readonly #server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => this.#take(socket));
  readonly #waiting: Socket[] = [];
  /** The workers that can take a connection, in their order. */
  readonly #free = new Set<WorkerSlot>();
  /** What each worker was passed and has not confirmed yet. */
  readonly #passed = new Map<WorkerSlot, Socket>();

  constructor(maxWaiting = MAX_WAITING) {
    this.#maxWaiting = maxWaiting;
  }

  /** Starts to listen, as `bind` does. Connections wait until there is a worker. */
  listen(host: string, port: number, onerror: (error: Error) => void): Promise<number> {
    return bind(this.#server, host, port, onerror);
  }

  /** Its worker can take a connection. It has confirmed the one that it was passed, if any. */
  add(slot: WorkerSlot): void {
    // The worker has a descriptor of its own.
    this.#passed.get(slot)?.destroy();
    this.#passed.delete(slot);
    this.#free.add(slot);
    this.#pass();
  }

  /** Its worker takes no more connections. */
  remove(slot: WorkerSlot): void {
    this.#free.delete(slot);
    const unconfirmed = this.#passed.get(slot);
    if (!unconfirmed) return;
    this.#passed.delete(slot);
    this.#waiting.unshift(unconfirmed);
    this.#pass();
  }

  /** Accepts no more connections, and closes those that wait. */
  close(): void {
    this.#server.close();
    this.closeWaiting();
  }

  /** Closes the connections that wait. Returns whether there were any. */
  closeWaiting(): boolean {
    const waiting = this.#waiting.splice(0);
    for (const socket of waiting) socket.destroy();
    return waiting.length > 0;
  }

  #take(socket: Socket): void {
    // Nobody reads from it here. An error would show at the worker, too.
    socket.on('error', () => {});
    if (!this.#server.listening || this.#waiting.length >= this.#maxWaiting) return void socket.destroy();
    this.#waiting.push(socket);
    this.#pass();
  }

  #pass(): void {
    for (const slot of this.#free) {
      const socket = this.#waiting.shift();
      if (!socket) return;
      this.#free.delete(slot);
      this.#passed.set(slot, socket);
      slot.pass(socket);
    }
  }
}
