import { isTemporary } from '../../../jsonrpc/error-chain.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import type { Timer } from '../../../base/timer.ts';
import { AnswerLost } from './errors.ts';
import { abortSoon, readEvents, STREAM_ENDED } from './event-stream.ts';
import type { HttpReply } from './http.ts';
import { pause } from '../../../base/wait.ts';
import { Reconnection, type ReconnectionOptions } from './reconnection.ts';

export interface ServerStreamOptions {
  /** Connects to the stream, after the event with this id if there is one. */
  readonly connect: (lastEventId: string | undefined, cancellation: Lifetime) => Promise<HttpReply>;
  readonly onmessage: (data: string) => void;
  /** Called after each chunk. If it returns a promise, the next chunk is read after the promise resolves. */
  readonly caughtUp: () => Promise<void> | undefined;
  /** Whether the stream reconnects even if no event had an id to resume from. */
  readonly alwaysReconnects: boolean;
  readonly idleTimeout: number;
  readonly maxEventLength: number;
  /** See `ReadOptions`. */
  readonly peer: string;
  readonly reconnection: ReconnectionOptions;
}

/** The event ids that a header can carry, as UTF-8. The maximum length is our choice. */
// eslint-disable-next-line no-control-regex
const USABLE_ID = /^[^\x00-\x08\x0a-\x1f\x7f]{1,2048}$/;
/** A connection that lasted this long, in milliseconds, counts as progress, even without an event. */
const STABLE_AFTER = 5000;

/** One stream of the server, over all its connections (2025-11-25, transports: Resumability and Redelivery). */
export class ServerStream {
  /** The key of the stream within its transport. */
  readonly number: number;
  readonly #options: ServerStreamOptions;
  /** Created when the first connection has ended. Most streams need only one connection. */
  #reconnection: Reconnection | undefined;
  #retry: number | undefined;
  #lastEventId: string | undefined;
  #cancellation = new Lifetime();
  #ended = false;
  #reading = false;
  #pausing = false;
  #linger: Timer;

  constructor(number: number, options: ServerStreamOptions) {
    this.number = number;
    this.#options = options;
  }

  /** Fires when the stream's current connection must be aborted. */
  get cancellation(): Lifetime {
    return this.#cancellation;
  }

  /**
   * Reads the stream until `end` or `stop`. Reconnects after a lost connection, as long as reconnecting brings
   * progress.
   *
   * @param reply the first connection, if it is already open.
   * @throws the reason why the stream was lost.
   */
  async follow(reply?: HttpReply): Promise<void> {
    const { connect, alwaysReconnects } = this.#options;
    for (let next = reply; ; next = undefined) {
      const began = performance.now();
      let failure: Error | undefined;
      try {
        await this.#read(next ?? (await connect(this.#lastEventId, this.#cancellation)));
      } catch (error) {
        failure = error as Error;
      }
      if (this.#isEnded()) return;
      if (failure && isTemporary(failure) !== true) throw failure;
      if (this.#lastEventId === undefined && !alwaysReconnects)
        throw failure ?? new AnswerLost('the stream ended without the response');
      const reconnection = (this.#reconnection ??= new Reconnection(this.#options.reconnection));
      reconnection.retry = this.#retry;
      const delay = reconnection.next(performance.now(), began);
      if (delay === undefined) throw noProgress(failure);
      this.#cancellation = new Lifetime();
      this.#pausing = true;
      await pause(delay, this.#cancellation.signal);
      this.#pausing = false;
      if (this.#isEnded()) return;
    }
  }

  /** Everything has been received. The server gets a short time to close the connection itself. */
  end(): void {
    this.#ended = true;
    if (this.#reading) this.#linger ??= abortSoon(this.#cancellation);
    else if (this.#pausing) this.#cancellation.abort(STREAM_ENDED);
  }

  /** Aborts the connection. */
  stop(reason: Error): void {
    this.#ended = true;
    clearTimeout(this.#linger);
    this.#cancellation.abort(reason);
  }

  #isEnded(): boolean {
    return this.#ended;
  }

  async #read(reply: HttpReply): Promise<void> {
    const { idleTimeout, maxEventLength, peer, onmessage, caughtUp } = this.#options;
    const opened = performance.now();
    let progress = false;
    let idle = false;
    this.#reading = true;
    if (this.#ended) this.#linger ??= abortSoon(this.#cancellation);
    try {
      await readEvents(reply, {
        cancellation: this.#cancellation,
        idleTimeout,
        maxEventLength,
        peer,
        caughtUp,
        onretry: (milliseconds) => {
          this.#retry = milliseconds;
        },
        onevent: ({ id, type, data }) => {
          if (id !== undefined) this.#lastEventId = USABLE_ID.test(id) ? id : undefined;
          if (type === 'message' && data !== '') {
            progress = true;
            onmessage(data);
          } else if (id !== undefined) idle = true;
        },
      });
    } finally {
      this.#reading = false;
      clearTimeout(this.#linger);
      if (this.#reconnection) {
        this.#reconnection.retry = this.#retry;
        if (progress || performance.now() - opened > STABLE_AFTER) this.#reconnection.progress();
        else if (idle) this.#reconnection.idle();
      }
    }
  }
}

function noProgress(failure: unknown): AnswerLost {
  const why = failure instanceof Error ? `: ${failure.message}` : '';
  return new AnswerLost(`reconnecting the stream failed too often${why}`, { cause: failure });
}
