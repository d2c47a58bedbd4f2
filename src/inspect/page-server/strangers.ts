import type { Socket } from 'node:net';

/** A browser opens six connections for a tab, and its page shows the key soon. */
const MAX_STRANGERS = 128;

/**
 * The connections that have not shown the key, or the ticket of an app. Any program of the machine can open them, also of
 * other users. Above the limit, the oldest is closed. Otherwise they could take all file descriptors, which a bridge needs for
 * its clients.
 */
export class Strangers {
  readonly #sockets = new Set<Socket>();

  add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#sockets.size <= MAX_STRANGERS) return;
    const [oldest] = this.#sockets;
    this.#sockets.delete(oldest!);
    oldest!.destroy();
  }

  /** The connection has shown it. */
  trust(socket: Socket): void {
    this.#sockets.delete(socket);
  }
}
