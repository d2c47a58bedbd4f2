import { finished, type Duplex, type Readable, type Writable } from 'node:stream';
import { afterMicrotasks } from '../../base/after-microtasks.ts';
import { sendBudgetExceeded } from '../../base/send-budget.ts';
import { quoting } from '../../base/short-text.ts';
import { isNotification, isRequest, type Message } from '../../jsonrpc/message.ts';
import { BaseTransport } from '../base-transport.ts';
import { SENT_AT_ONCE, type SendOptions, type Transport } from '../transport.ts';
import { Framing } from './framing.ts';
import { notSent, Outgoing } from './outgoing.ts';
import { PacedReader } from './paced-reader.ts';

/** Which side of the connection this is, and its limits. */
export interface StreamTransportOptions {
  /**
   * Which side this is. Default `server`.
   *
   * A `server` answers invalid lines and skips lines that are too long. At the end of input it answers requests in
   * flight before it closes. A `client` reports invalid lines, answers only malformed requests among them, and closes
   * at the end of input. A response that is too long fails its request. If the id of that response cannot be read, the
   * client closes, because it could be the response to any request.
   */
  readonly role?: 'server' | 'client' | undefined;
  /** The maximum size of one incoming message, in bytes. Default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * The most bytes that may wait for a peer that does not read. Above it, `send` rejects. A result that would be above it
   * is replaced by an error, so that only its own call fails. Notifications may use half of it. Default 64 MiB. All
   * connections of the process share 256 MiB: beyond that, the one that has waited longest fails.
   */
  readonly maxPendingBytes?: number | undefined;
  /** Milliseconds that a closing connection waits for the peer to read what was sent. Default 10 000. */
  readonly drainTimeout?: number | undefined;
  /**
   * Milliseconds that a server continues to answer after the input has ended. 0, the default: until every request is
   * answered, or the peer is known to have exited.
   */
  readonly answerTimeout?: number | undefined;
  /**
   * Returns whether the peer has exited, if that can be known. Called once a second while the server still answers
   * after the end of input.
   */
  readonly gone?: (() => boolean) | undefined;
  /** Called by `start`, before anything is read. */
  readonly acquire?: (() => void) | undefined;
  /**
   * Releases the streams, once, after the connection has closed. Default: ends the output, discards the input until it
   * ends, and destroys both after a second.
   */
  readonly release?: (() => void) | undefined;
}

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
/** The part of it that notifications may use. One that is dropped costs less than a connection without room for an answer. */
const PART_OF_NOTIFICATIONS = 1 / 2;
/**
 * A client stops reading from a server that leaves more than this many answers unread. Requests do not count, because a
 * server may write all its messages before it reads the next one.
 */
const MAX_UNREAD = 1000;
/** How long a closed connection is still read, in milliseconds. */
const LINGER = 1000;
/** The time between two calls of `gone`, in milliseconds. */
const GONE_POLL_INTERVAL = 1000;
/** Below this size in bytes, the size of a message is not reported to the owner. */
const SMALL = 4096;

/**
 * Messages as lines over any pair of byte streams: pipes, a TCP or Unix socket (2025-11-25, basic/transports: stdio).
 */
export function streamTransport(input: Readable, output: Writable, options?: StreamTransportOptions): StreamTransport {
  return new StreamTransport(input, output, options);
}

/** Messages as lines, over two byte streams. */
export class StreamTransport extends BaseTransport implements Transport {
  onend: Transport['onend'];
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #server: boolean;
  readonly #options: StreamTransportOptions;
  readonly #answerTimeout: number;
  readonly #framing: Framing;
  readonly #reader: PacedReader;
  readonly #outgoing: Outgoing;
  /**
   * A server stops reading when more bytes than this wait to be sent. This slows down a client that writes but does not
   * read.
   */
  readonly #maxUnsentBytes: number;
  /** The number of answers that the peer has not read yet. */
  #unread = 0;
  #phase: 'new' | 'open' | 'ended' | 'closing' | 'closed' = 'new';
  #reason: Error | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #answerTimer: ReturnType<typeof setInterval> | undefined;
  #expired: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(input: Readable, output: Writable, options: StreamTransportOptions = {}) {
    super();
    this.#input = input;
    this.#output = output;
    this.#server = options.role !== 'client';
    this.#options = options;
    this.#answerTimeout = options.answerTimeout ?? 0;
    const maxPendingBytes = options.maxPendingBytes ?? MAX_PENDING_BYTES;
    this.#maxUnsentBytes = maxPendingBytes / 4;
    this.#outgoing = new Outgoing(output, maxPendingBytes, () => this.fail(sendBudgetExceeded()));
    this.#framing = new Framing(
      {
        deliver: (message, bytes, cause) => {
          this.#reader.countLine();
          this.callOnmessage(message, cause ? { cause } : bytes > SMALL ? { bytes } : undefined);
        },
        answer: (json) => void this.#write(json, true).catch((error: Error) => this.#sendFailed(error)),
        report: (error) => {
          this.#reader.countLine();
          this.report(error);
        },
        lost: (error) => this.fail(error),
      },
      { answerInvalid: this.#server, maxMessageBytes: options.maxMessageBytes ?? MAX_MESSAGE_BYTES },
    );
    this.#reader = new PacedReader(input, {
      // Messages that are sent in response are written together.
      begin: () => this.#joinUntilIdle(),
      push: (bytes) => this.#framing.push(bytes),
      completesLarge: (bytes) => this.#framing.completesLarge(bytes),
      end: () => this.#inputEnded(),
      failed: (error) => this.fail(error),
    });
    // A stream may break before it is read, and an error that nobody listens to would end the process.
    input.on('error', (error) => this.fail(error));
    if ((input as unknown) !== output) output.on('error', (error) => this.#outputFailed(error));
  }

  /** Why the connection closed. Undefined if `close` or the end of the input closed it. */
  get closeReason(): Error | undefined {
    return this.#reason;
  }

  /**
   * Resolves when what was read and waits for a turn of the event loop is delivered. Undefined if nothing waits for one.
   *
   * @internal
   */
  get turn(): Promise<void> | undefined {
    return this.#reader.turn;
  }

  start(): Promise<void> {
    if (this.#phase !== 'new') {
      return Promise.reject(
        this.#reason ??
          new Error(this.#closing ? 'The connection is closed' : 'The transport has already been started'),
      );
    }
    this.#phase = 'open';
    this.#options.acquire?.();
    this.#reader.start();
    this.#output.on('close', () => this.#outputFailed(undefined));
    return Promise.resolve();
  }

  send(message: Message, _options?: SendOptions): Promise<void> {
    if (this.#phase === 'ended' && 'method' in message && 'id' in message) {
      return Promise.reject(
        new Error(quoting`${message.method} was not sent: the peer has closed its side of the connection`),
      );
    }
    // The caller may not know yet that the connection is closing.
    if (this.#phase !== 'open' && this.#phase !== 'ended') return Promise.reject(notSent(this.#notOpen()));
    let line: string | undefined;
    try {
      line = this.#framing.encode(message, this.#outgoing.room);
    } catch (error) {
      return Promise.reject(error);
    }
    // Questions that a server asks at once are written together, so that the client can answer them together.
    if (this.#server && isRequest(message)) this.#joinUntilIdle();
    const part = isNotification(message) ? PART_OF_NOTIFICATIONS : 1;
    const sent = line === undefined ? SENT_AT_ONCE : this.#write(line, !('method' in message), part);
    if (this.#phase === 'ended') this.#closeWhenIdle();
    return sent;
  }

  setProtocolVersion(version: string): void {
    this.#framing.setProtocolVersion(version);
  }

  /** Closes the connection. Messages that were sent are written first, if the peer reads them within `drainTimeout`. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Reports an error and closes the connection because of it. */
  fail(error: Error): void {
    if (this.#phase === 'closed') return;
    this.#reason ??= error;
    this.#framing.stop();
    this.#outgoing.close(new Error(`The connection is closed: ${error.message}`, { cause: error }));
    this.report(error);
    void this.close();
  }

  async #close(): Promise<void> {
    this.#phase = 'closing';
    clearInterval(this.#answerTimer);
    this.#framing.stop();
    await Promise.race([this.#outgoing.flushed(), this.#deadline()]);
    clearTimeout(this.#timer);
    this.#phase = 'closed';
    this.#outgoing.close(this.#notOpen());
    this.#reader.stop();
    if (this.#options.release) this.#options.release();
    else endStreams(this.#input, this.#output);
    this.guard(() => this.onclose?.());
  }

  /** Joins all messages that are sent before any other callback runs into one write. */
  #joinUntilIdle(): void {
    this.#outgoing.hold();
    afterMicrotasks(this.#flush);
  }

  readonly #flush = (): void => this.#outgoing.flush();

  #write(line: string, answer: boolean, part?: number): Promise<void> {
    const sent = this.#outgoing.send(line, part);
    // If an answer were dropped because the peer does not read, the peer would wait for it forever. So the connection
    // fails instead.
    if (answer && sent !== SENT_AT_ONCE && this.#outgoing.waiting > 0) {
      this.#unread += 1;
      sent.then(
        () => void (this.#unread -= 1),
        (error: Error) => this.fail(error),
      );
    }
    const behind = this.#server ? this.#outgoing.waiting > this.#maxUnsentBytes : this.#unread > MAX_UNREAD;
    if (behind && this.#phase === 'open') this.#reader.holdUntil(this.#outgoing.flushed());
    return sent;
  }

  /**
   * A response that the transport itself sends failed. If the connection has failed too, the error is already reported.
   */
  #sendFailed(error: Error): void {
    if (!this.#reason) this.report(error);
  }

  /**
   * The peer has sent nothing more than what was read. A server still answers requests in flight. A client closes, because no
   * answer can come.
   */
  #inputEnded(): void {
    if (this.#phase !== 'open') return;
    // A call that is not written yet fails now, so that its caller can use another connection at once.
    if (!this.#server) this.#outgoing.close(this.#notOpen());
    // A socket without half-open support closes in both directions at once. Any other output closes separately.
    const closesBothDirections =
      (this.#input as unknown) === this.#output && (this.#output as Partial<Duplex>).allowHalfOpen === false;
    if (!this.#server || !this.#output.writable || closesBothDirections) return void this.close();
    this.#phase = 'ended';
    this.guard(() => this.onend?.());
    this.#closeWhenIdle();
    if (this.#phase !== 'ended') return;
    // The peer may still read, and its requests may take any time. If the peer has exited, nobody needs the answers
    // (2025-11-25, basic/lifecycle: Shutdown, stdio). The timer also keeps the process alive while a handler waits for
    // a promise.
    const until = this.#answerTimeout > 0 ? performance.now() + this.#answerTimeout : Infinity;
    this.#answerTimer = setInterval(
      () => {
        if (this.#options.gone?.()) void this.close();
        else if (performance.now() >= until) this.#answersTimedOut();
      },
      Math.min(GONE_POLL_INTERVAL, this.#answerTimeout || Infinity),
    );
  }

  #answersTimedOut(): void {
    const open = this.#framing.inFlight.size;
    this.report(new Error(`${open} requests were not answered within ${this.#answerTimeout} ms after the input ended`));
    void this.close();
  }

  #closeWhenIdle(): void {
    if (this.#framing.inFlight.size === 0) void this.close();
  }

  /** The peer reads nothing more. A client still reads what the server has already sent. */
  #outputFailed(error: Error | undefined): void {
    if (this.#phase === 'closed') return;
    if (this.#server) return error ? this.fail(error) : void this.close();
    this.#outgoing.close(new Error('The peer has closed its side of the connection', { cause: error }));
    if (error) {
      this.#reason ??= error;
      this.report(error);
    }
    void this.#deadline().then(() => this.close());
  }

  /** Resolves after `drainTimeout`, which the peer gets to read what was sent. */
  #deadline(): Promise<void> {
    this.#expired ??= new Promise((resolve) => {
      this.#timer = setTimeout(resolve, this.#options.drainTimeout ?? 10_000);
    });
    return this.#expired;
  }

  #notOpen(): Error {
    if (this.#reason) return new Error(`The connection is closed: ${this.#reason.message}`, { cause: this.#reason });
    return new Error(this.#phase === 'new' ? 'The transport is not started' : 'The connection is closed');
  }
}

/**
 * Ends both directions. The input is still read for a while, because closing a socket with unread data could discard
 * data that was sent.
 */
function endStreams(input: Readable, output: Writable): void {
  output.end();
  input.resume();
  const destroy = (): void => {
    clearTimeout(timer);
    input.destroy();
    output.destroy();
  };
  const timer = setTimeout(destroy, LINGER);
  timer.unref();
  finished(input, { writable: false }, () => finished(output, { readable: false }, destroy));
}
