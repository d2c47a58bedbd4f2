import type { Readable, Writable } from 'node:stream';
import { tapStreams, type Wiretap } from '../wiretap.ts';
import { StreamTransport } from './stream.ts';

/** Limits, and other streams than the process's own. */
export interface StdioServerOptions {
  /** Default `process.stdin`. */
  readonly stdin?: Readable | undefined;
  /** Default `process.stdout`. */
  readonly stdout?: Writable | undefined;
  /** The largest incoming message, in bytes. Default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** How long responses may stay unread when the connection closes. Milliseconds, default 10 000. */
  readonly drainTimeout?: number | undefined;
  /**
   * How long requests in flight may take after stdin has ended. Milliseconds. Default 0: no limit, until the client
   * closes stdout or ends the process.
   */
  readonly answerTimeout?: number | undefined;
  /** Called with text that other code writes to stdout while the transport is open. Default: it goes to stderr. */
  readonly onstderr?: ((text: string) => void) | undefined;
  /** Sees the bytes of stdin and stdout. Default none. */
  readonly wiretap?: Wiretap | undefined;
}

/**
 * The server's end of stdio (2025-11-25, basic/transports: stdio).
 *
 * When stdin ends, `onend` is called, requests in flight are answered (see `answerTimeout`), and the connection closes.
 * Nothing then keeps the process alive, unless the client leaves responses unread and the pipe open.
 *
 * While it is open, stdout carries only messages. Text that `console.log` and other code writes to `process.stdout`
 * goes to stderr.
 */
export function stdioServerTransport(options: StdioServerOptions = {}): StreamTransport {
  const parent = process.ppid;
  const stdin = options.stdin ?? process.stdin;
  const stdout = options.stdout ?? process.stdout;
  const { onstderr = (text) => void process.stderr.write(text), wiretap } = options;
  let restore: (() => void) | undefined;
  let untap: (() => void) | undefined;
  return new StreamTransport(stdin, stdout, {
    role: 'server',
    maxMessageBytes: options.maxMessageBytes,
    drainTimeout: options.drainTimeout,
    answerTimeout: options.answerTimeout,
    // The only sign that nothing reads a pipe any more is that the parent process has ended.
    gone: () => stdin === process.stdin && process.ppid !== parent,
    acquire: () => {
      const streams = { input: stdin, output: stdout };
      untap = wiretap && tapStreams(wiretap, { protocol: 'stdio', role: 'server' }, streams);
      if (stdout === process.stdout) restore = divertStdout(onstderr);
    },
    release: () => {
      untap?.();
      restore?.();
      // A paused stdin does not keep the process alive. The transport does not own the streams, so it does not end
      // them.
      stdin.pause();
    },
  });
}

/**
 * Keeps other output off stdout. Replaces the stream's own `write`, because not only `console` writes there.
 *
 * @returns a function that restores it.
 */
function divertStdout(onstderr: (text: string) => void): () => void {
  const { stdout } = process;
  // It is only restored later, and never called here.
  // oxlint-disable-next-line typescript/unbound-method
  const original = stdout.write;
  const diverted = (
    chunk: Uint8Array | string,
    encoding?: BufferEncoding | ((error?: Error) => void),
    callback?: (error?: Error) => void,
  ): boolean => {
    const known = typeof encoding === 'string' ? encoding : undefined;
    onstderr((typeof chunk === 'string' ? Buffer.from(chunk, known) : Buffer.from(chunk)).toString());
    const written = typeof encoding === 'function' ? encoding : callback;
    if (written) process.nextTick(written);
    return true;
  };
  stdout.write = diverted;
  return () => {
    // Other code may have replaced `write` since.
    if (stdout.write === diverted) stdout.write = original;
  };
}
