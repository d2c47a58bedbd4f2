import type { Writable } from 'node:stream';
import { TAKEN } from '../transport.ts';

/** What is joined into one write at the most, in UTF-16 units, before it is handed on at once. */
const JOINED = 64 * 1024;

/**
 * Writes lines to a byte stream: those that come together in one write, and no faster than the reader reads.
 */
export class Outgoing {
  readonly #output: Writable;
  readonly #write: Writable['write'];
  readonly #limit: number;
  readonly #schedule: (write: () => void) => void;
  readonly #flush = (): void => this.flush();
  readonly #written = (): void => this.#settleWrite();
  #text = '';
  #scheduled = false;
  #writes = 0;
  #full: Deferred | undefined;
  #idle: Deferred | undefined;
  #closed: Error | undefined;

  /**
   * @param limit how many bytes may wait for a slow reader; about, since text is counted before it is encoded.
   * @param schedule when to write what has come: at the end of the callback that it came in, `process.nextTick`, where
   *   one callback brings all there is; at the end of the turn of the event loop, `setImmediate`, where many bring a
   *   little each.
   */
  constructor(output: Writable, limit: number, schedule: (write: () => void) => void) {
    this.#schedule = schedule;
    this.#output = output;
    this.#write = output.write.bind(output);
    this.#limit = limit;
    output.on('drain', () => this.#drained());
  }

  /** How much waits to be written, in about bytes. */
  get waiting(): number {
    return this.#text.length + this.#output.writableLength;
  }

  /**
   * Takes a line; resolves at once, or when the reader has caught up where it is behind.
   *
   * @throws where the stream is closed, or more than the limit waits already.
   */
  send(line: string): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    if (this.waiting + line.length > this.#limit) {
      return Promise.reject(new Error(`The peer does not read: more than ${this.#limit} bytes wait for it`));
    }
    this.#text += line;
    this.#text += '\n';
    if (this.#text.length >= JOINED) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      this.#schedule(this.#flush);
    }
    return this.#full ? this.#full.promise : TAKEN;
  }

  /** What is sent from now on waits for the `flush` that its owner will call, instead of for a time of its own. */
  hold(): void {
    this.#scheduled = true;
  }

  flush(): void {
    this.#scheduled = false;
    const text = this.#text;
    // What comes while the reader is behind is written together when it has caught up.
    if (text === '' || this.#full || this.#closed) return;
    this.#text = '';
    this.#writes += 1;
    // The return value of `write` says "full" for a large chunk even where all of it was written at once.
    this.#write(text, this.#written);
    if (this.#output.writableNeedDrain && this.#output.writableLength > 0) this.#full = new Deferred();
  }

  /** Resolves when all that was taken is written, or cannot be any more. */
  flushed(): Promise<void> {
    this.flush();
    if (this.#writes === 0 || this.#closed) return TAKEN;
    this.#idle ??= new Deferred();
    return this.#idle.promise;
  }

  /** Writes nothing from now on. Who waits for the reader is told why. */
  close(reason: Error): void {
    if (this.#closed) return;
    this.#closed = reason;
    this.#text = '';
    this.#full?.reject(reason);
    this.#idle?.resolve();
  }

  #settleWrite(): void {
    this.#writes -= 1;
    if (this.#writes === 0 && this.#text === '') {
      this.#idle?.resolve();
      this.#idle = undefined;
    }
  }

  #drained(): void {
    const full = this.#full;
    this.#full = undefined;
    this.flush();
    full?.resolve();
  }
}

class Deferred {
  readonly promise: Promise<void>;
  resolve!: () => void;
  reject!: (reason: Error) => void;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Who does not wait for the reader need not hear that it never came.
    this.promise.catch(() => {});
  }
}
