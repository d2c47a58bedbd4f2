import type { Readable, Writable } from 'node:stream';
import { StreamTransport } from './stream.ts';

/** Bounds, and other streams than the process's own. */
export interface StdioServerOptions {
  /** Default `process.stdin`. */
  readonly stdin?: Readable | undefined;
  /** Default `process.stdout`. */
  readonly stdout?: Writable | undefined;
  /** The bound of one incoming message, in bytes. Default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** How long answers may stay unread when the connection closes. Milliseconds, default 10 000. */
  readonly drainTimeout?: number | undefined;
  /**
   * How long what is in flight when stdin ends may take. Milliseconds; 0, the default, is as long as it takes, or until
   * the client closes stdout or ends the process.
   */
  readonly answerTimeout?: number | undefined;
  /** Takes what anything but the transport writes to stdout while it is open. Default: it goes to stderr. */
  readonly onstderr?: ((text: string) => void) | undefined;
}

/**
 * The server's end of stdio (2025-11-25, basic/transports: stdio).
 *
 * Where stdin ends, `onend` is called, what is in flight is answered however long that takes (see `answerTimeout`), and
 * the connection closes; nothing then keeps the process alive, unless the client leaves its answers unread and the pipe
 * open.
 *
 * While it is open, stdout carries messages and nothing else: what `console.log` and others write to `process.stdout`
 * goes to stderr.
 */
export function stdioServerTransport(options: StdioServerOptions = {}): StreamTransport {
  const parent = process.ppid;
  const stdin = options.stdin ?? process.stdin;
  const stdout = options.stdout ?? process.stdout;
  const stray = stdout === process.stdout ? new StrayOutput(options.onstderr) : undefined;
  return new StreamTransport(stdin, stdout, {
    role: 'server',
    ...(options.maxMessageBytes !== undefined && { maxMessageBytes: options.maxMessageBytes }),
    ...(options.drainTimeout !== undefined && { drainTimeout: options.drainTimeout }),
    ...(options.answerTimeout !== undefined && { answerTimeout: options.answerTimeout }),
    // Nothing tells that nobody reads a pipe any more, but that the process which started this one is gone.
    ...(stdin === process.stdin && { gone: () => process.ppid !== parent }),
    acquire: () => stray?.divert(),
    release: () => {
      stray?.restore();
      // A paused stdin does not keep the process alive. Neither stream is ours to end.
      stdin.pause();
    },
  });
}

/** Keeps off stdout what is no message. Not `console` alone writes there, so it is the stream that is guarded. */
class StrayOutput {
  readonly #onstderr: (text: string) => void;
  #original: typeof process.stdout.write | undefined;
  readonly #diverted: typeof process.stdout.write;

  constructor(onstderr: ((text: string) => void) | undefined) {
    this.#onstderr = onstderr ?? ((text) => void process.stderr.write(text));
    this.#diverted = (
      chunk: Uint8Array | string,
      encoding?: BufferEncoding | ((error?: Error) => void),
      callback?: (error?: Error) => void,
    ): boolean => {
      const known = typeof encoding === 'string' ? encoding : undefined;
      this.#onstderr((typeof chunk === 'string' ? Buffer.from(chunk, known) : Buffer.from(chunk)).toString());
      const written = typeof encoding === 'function' ? encoding : callback;
      if (written) process.nextTick(written);
      return true;
    };
  }

  divert(): void {
    // Put back later as it was; never called.
    // oxlint-disable-next-line typescript/unbound-method
    this.#original = process.stdout.write;
    process.stdout.write = this.#diverted;
  }

  restore(): void {
    // Somebody else may have taken the stream over since.
    if (this.#original && process.stdout.write === this.#diverted) process.stdout.write = this.#original;
  }
}
