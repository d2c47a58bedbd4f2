import type { HttpStream } from './call.ts';
import { KEEP_ALIVE } from './sse.ts';

/** The open event streams of a handler. One timer keeps them alive, and they are closed together. */
export class OpenConnections {
  readonly #open = new Set<SseConnection>();
  readonly #interval: number;
  readonly stallTimeout: number;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * @param interval milliseconds between keep-alive comments; 0 for none.
   * @param stallTimeout milliseconds after which a client that reads nothing is disconnected.
   */
  constructor(interval: number, stallTimeout: number) {
    this.#interval = interval;
    this.stallTimeout = stallTimeout;
  }

  get size(): number {
    return this.#open.size;
  }

  add(connection: SseConnection): void {
    this.#open.add(connection);
    if (this.#timer === undefined && this.#interval > 0) {
      this.#timer = setInterval(() => {
        for (const each of this.#open) each.keepAlive();
      }, this.#interval);
      this.#timer.unref?.();
    }
  }

  delete(connection: SseConnection): void {
    this.#open.delete(connection);
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

/** One HTTP response that carries events, with the state of its reader. */
export class SseConnection {
  readonly #stream: HttpStream;
  readonly #connections: OpenConnections;
  #onclose: (() => void) | undefined;
  #full = false;
  #closed = false;
  #waiting: (() => void)[] | undefined;

  constructor(stream: HttpStream, connections: OpenConnections, onclose: () => void) {
    this.#stream = stream;
    this.#connections = connections;
    this.#onclose = onclose;
    // Variables first, for the garbage collector (`CallExtra`).
    const drained = (): void => this.#drained();
    const close = (): void => this.#close();
    stream.ondrain = drained;
    stream.onclose = close;
    connections.add(this);
  }

  /** Whether the reader is slow, so that new text stays in memory. */
  get full(): boolean {
    return this.#full;
  }

  get closed(): boolean {
    return this.#closed;
  }

  write(text: string): void {
    if (this.#closed || this.#stream.write(text) || this.#full) return;
    this.#full = true;
    this.#stream.watch(this.#connections.stallTimeout);
  }

  /** See `HttpStream.keep`. */
  keep(bytes: number): void {
    if (!this.#closed) this.#stream.keep(bytes);
  }

  keepAlive(): void {
    if (!this.#full) this.write(KEEP_ALIVE);
  }

  /** Resolves when the reader has caught up or is gone. */
  drained(): Promise<void> {
    if (!this.#full || this.#closed) return Promise.resolve();
    return new Promise((resolve) => (this.#waiting ??= []).push(resolve));
  }

  end(): void {
    if (this.#closed) return;
    this.#stream.end();
    this.#close();
  }

  destroy(): void {
    if (this.#closed) return;
    this.#stream.destroy();
    this.#close();
  }

  #drained(): void {
    if (this.#full && !this.#closed) this.#stream.watch(0);
    this.#full = false;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const resolve of waiting ?? []) resolve();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#connections.delete(this);
    this.#drained();
    this.#onclose?.();
    this.#onclose = undefined;
  }
}
