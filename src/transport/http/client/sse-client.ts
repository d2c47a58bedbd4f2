import { printableError } from '../../../base/printable.ts';
import { Deadline } from '../../../base/deadline.ts';
import { peerUrl } from '../../../base/peer-url.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { isType } from './endpoint.ts';
import { AnswerLost, HttpStatusError, SessionGone, originOf, shown, statusError } from './errors.ts';
import { readEvents } from './event-stream.ts';
import type { HttpReply } from './http.ts';
import { PostingClient, type PostingClientOptions } from './posting-client.ts';

export interface SseClientOptions extends PostingClientOptions {
  /** How long the server may take to send its endpoint. Milliseconds, default 30 000; 0 for no limit. */
  readonly openTimeout?: number | undefined;
}

const OPEN_TIMEOUT = 30_000;

/**
 * The client's side of HTTP+SSE (2024-11-05, transports: HTTP with SSE). All messages from the server arrive on one
 * event stream. Its first event names the URL to post messages to.
 *
 * `start` rejects with HttpStatusError if the server has no such stream. It rejects with an error if the endpoint has
 * another origin, because credentials must not be sent there. `send` resolves when the server has accepted a message.
 * The stream is the session: when it ends, the transport closes, and `closeReason` says why.
 */
export class SseClient extends PostingClient {
  readonly #openTimeout: number;
  readonly #stream = new Lifetime();

  constructor(url: URL, options: SseClientOptions = {}) {
    super(url, options);
    this.#openTimeout = options.openTimeout ?? OPEN_TIMEOUT;
  }

  async start(): Promise<void> {
    if (this.phase !== 'new') {
      throw new Error(this.phase === 'closed' ? 'The connection is closed' : 'The transport has already been started');
    }
    this.phase = 'opening';
    const limit = this.#openTimeout;
    const onTimeout = (): void =>
      this.#stream.abort(new AnswerLost(`${shown(this.url)} sent no endpoint event within ${limit} ms`));
    const deadline = new Deadline({ timeout: limit }, onTimeout, this.endpoint.loginActiveUntil);
    try {
      await this.#connect();
    } catch (error) {
      this.finish(error as Error);
      throw error;
    } finally {
      deadline.clear();
    }
  }

  close(): Promise<void> {
    this.finish();
    return Promise.resolve();
  }

  /** The endpoint existed when the session was opened, so 404 means that the session has ended. */
  protected translateError(error: unknown): unknown {
    if (!(error instanceof HttpStatusError) || error.status !== 404) return error;
    this.endSession();
    return new SessionGone(true);
  }

  protected stop(reason: Error): void {
    this.#stream.abort(reason);
  }

  async #connect(): Promise<void> {
    const reply = await this.endpoint.send({
      method: 'GET',
      url: this.url,
      headers: { accept: 'text/event-stream' },
      cancellation: this.#stream,
    });
    if (!isType(reply, 'text/event-stream')) {
      reply.discard();
      throw statusError(reply, 'GET', this.url, 'the response is not an event stream');
    }
    await new Promise<void>((resolve, reject) => {
      this.#read(reply, resolve).then(
        () => {
          const error = new AnswerLost(`${shown(this.url)} ended its event stream`);
          reject(error);
          this.finish(error);
        },
        (error: Error) => {
          reject(error);
          this.finish(error);
        },
      );
    });
  }

  #read(reply: HttpReply, onopen: () => void): Promise<void> {
    return readEvents(reply, {
      cancellation: this.#stream,
      idleTimeout: this.idleTimeout,
      maxEventLength: this.maxMessageBytes,
      peer: this.url.origin,
      caughtUp: () => this.answers.caughtUp(),
      onevent: ({ type, data }) => {
        // Before its endpoint, a server has nothing to say, and nothing can be answered.
        if (type === 'message' && data !== '' && this.phase !== 'opening') return this.incoming.receive(data);
        if (type !== 'endpoint' || this.phase !== 'opening') return;
        const target = peerUrl(data, this.url);
        if (target?.origin !== this.url.origin) {
          const why = target ? `of another origin, ${originOf(target)}` : 'that is not a valid URL';
          throw printableError(`${shown(this.url)} sent an endpoint ${why}`);
        }
        this.target = target;
        this.phase = 'open';
        onopen();
      },
    });
  }
}
