import { createServer, type Socket } from 'node:net';
import { bindProblem } from '../../transport/http/server/bind-problem.ts';
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
  readonly #server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => this.#take(socket));
  readonly #waiting: Socket[] = [];
  /** The workers that can take a connection, in their order. */
  readonly #free = new Set<WorkerSlot>();
  /** What each worker was passed and has not confirmed yet. */
  readonly #passed = new Map<WorkerSlot, Socket>();

  /**
   * Starts to listen. Connections wait until there is a worker.
   *
   * @param onerror gets what later keeps it from accepting a connection, such as a missing file descriptor.
   * @returns the port in use.
   * @throws Error with a readable message if the address cannot be used.
   */
  listen(host: string, port: number, onerror: (error: Error) => void): Promise<number> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      const fail = (cause: Error): void => reject(new Error(bindProblem(cause, host, port), { cause }));
      server.once('error', fail);
      server.listen(port, host, () => {
        server.off('error', fail);
        server.on('error', onerror);
        const address = server.address();
        resolve(typeof address === 'object' && address ? address.port : port);
      });
    });
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
    for (const socket of this.#waiting.splice(0)) socket.destroy();
  }

  #take(socket: Socket): void {
    // Nobody reads from it here. An error would show at the worker, too.
    socket.on('error', () => {});
    if (!this.#server.listening || this.#waiting.length === MAX_WAITING) return void socket.destroy();
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
