import type { Writable } from 'node:stream';
import type { Holder } from '../../base/buffer-budget.ts';
import { Deferred } from '../../base/deferred.ts';
import { sendBudget } from '../../base/send-budget.ts';
import { isWide } from '../../base/text-memory.ts';
import type { TransportFailure } from '../../jsonrpc/error-chain.ts';
import { usePlainWrite } from '../plain-write.ts';
import { SENT_AT_ONCE } from '../transport.ts';

/** The most text that is joined into one write, in UTF-16 units. Beyond it the text is written at once. */
const JOINED = 64 * 1024;
/** The most lines that are joined into one write, so that the reader works while the next ones are made. */
const JOINED_LINES = 32;
/** What a line that waits takes besides its text: 390 bytes with the promises of its sender, as measured. */
const LINE_BYTES = 390;
/** The part of the limit that results do not use: one in 32. */
const RESERVE = 32;

/**
 * Writes lines to a byte stream, no faster than the reader reads. A line is written at once. Lines that follow in the same
 * turn of the event loop are joined into one write.
 */
export class Outgoing implements Holder {
  held = 0;
  readonly cutOff: () => void;
  readonly #output: Writable;
  readonly #write: Writable['write'];
  readonly #limit: number;
  readonly #flush = (): void => this.flush();
  readonly #written = (): void => this.#settleWrite();
  #text = '';
  /** Whether `#text` takes two bytes for each character. Known only while the reader is slow. */
  // Stryker disable next-line BooleanLiteral: the first line is written at once, which sets it
  #isWide = false;
  /** How many lines are in `#text`. */
  #joined = 0;
  /** Whether lines wait for the next flush. */
  #joining = false;
  #writes = 0;
  /** How many lines were sent while the reader is slow. */
  #lines = 0;
  /** While the reader is slow: what callers wait for if their lines are in the last write, or in the next one. */
  #full: { readonly written: Deferred; readonly queued: Deferred } | undefined;
  #idle: Deferred | undefined;
  #closed: Error | undefined;

  /**
   * @param limit the most bytes that may wait for a slow reader. Approximate, because text is counted before it is
   * encoded.
   * @param cutOff ends the connection, to make room for others.
   */
  constructor(output: Writable, limit: number, cutOff: () => void) {
    this.cutOff = cutOff;
    this.#output = output;
    usePlainWrite(output);
    this.#write = output.write.bind(output);
    this.#limit = limit;
    output.on('drain', () => this.#drained());
  }

  /** About how many bytes wait to be written. */
  get waiting(): number {
    return (this.#isWide ? 2 : 1) * this.#text.length + this.#output.writableLength;
  }

  /** How long a result may be. A little is left for the errors that replace longer ones. */
  get room(): number {
    return this.#limit - this.#limit / RESERVE - this.waiting;
  }

  /**
   * Accepts a line. Resolves at once, or when a slow reader has caught up.
   *
   * @param part of the limit that this line and those before it may use.
   * @throws if the stream is closed, or if more than that already waits.
   */
  send(line: string, part = 1): Promise<void> {
    if (this.#closed) return Promise.reject(notSent(this.#closed));
    const most = this.#limit * part;
    if (line.length > most) {
      const why = `The message is too large to send: ${line.length} of at most ${most} bytes`;
      return Promise.reject(new Error(`${why}; send less at once, or raise maxPendingBytes`));
    }
    if (this.waiting + line.length > most) {
      return Promise.reject(new Error(`The peer does not read: more than ${most} bytes are waiting`));
    }
    const queued = this.#full?.queued;
    // Otherwise the text is written soon.
    // Stryker disable next-line ConditionalExpression: only saves time while the reader is not slow
    if (this.#full) this.#isWide ||= isWide(line);
    this.#text += line;
    this.#text += '\n';
    this.#joined += 1;
    if (!this.#joining) {
      this.flush();
      this.#joining = true;
      setImmediate(this.#flush);
    } else if (this.#text.length >= JOINED || this.#joined >= JOINED_LINES) this.#writeNow();
    if (!this.#full) return SENT_AT_ONCE;
    const drained = (queued ?? this.#full.written).promise;
    this.#lines += 1;
    sendBudget.hold(this, this.waiting + this.#lines * LINE_BYTES);
    return drained;
  }

  /** From now on, lines wait until the owner calls `flush`, or until enough of them are joined. */
  hold(): void {
    this.#joining = true;
  }

  flush(): void {
    this.#joining = false;
    this.#writeNow();
  }

  #writeNow(): void {
    const text = this.#text;
    // Lines that are sent while the reader is slow are written together when it has caught up.
    if (text === '' || this.#full || this.#closed) return;
    this.#text = '';
    this.#isWide = false;
    this.#joined = 0;
    this.#writes += 1;
    // For a large chunk, `write` returns "full" even if everything was written at once.
    this.#write(text, this.#written);
    if (this.#output.writableNeedDrain && this.#output.writableLength > 0 && !this.#closed)
      this.#full = { written: new Deferred(), queued: new Deferred() };
  }

  /** Resolves when everything that was accepted is written, or can no longer be written. */
  flushed(): Promise<void> {
    this.flush();
    if (this.#writes === 0 || this.#closed) return SENT_AT_ONCE;
    this.#idle ??= new Deferred();
    return this.#idle.promise;
  }

  /** Stops writing. Callers whose lines were not written get the reason. Whether the others were read is not known. */
  close(reason: Error): void {
    if (this.#closed) return;
    this.#closed = reason;
    this.#text = '';
    sendBudget.hold(this, 0);
    this.#full?.written.resolve();
    this.#full?.queued.reject(notSent(reason));
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
    this.#lines = 0;
    sendBudget.hold(this, 0);
    this.flush();
    if (this.#full) sendBudget.hold(this, this.waiting);
    full?.written.resolve();
    full?.queued.resolve();
  }
}

/**
 * The error for a message of which nothing was written, because the connection is closed or closing. Every later message
 * would fail too, so the next call needs another connection.
 */
export function notSent(cause: Error): TransportFailure {
  return Object.assign(new Error(cause.message, { cause }), { notExecuted: true, sessionGone: true });
}
