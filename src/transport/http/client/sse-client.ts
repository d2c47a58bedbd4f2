import { Deadline } from '../../../base/deadline.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { isType } from './endpoint.ts';
import { AnswerLost, HttpStatusError, SessionGone, shown, statusError } from './errors.ts';
import { readEvents } from './event-stream.ts';
import type { HttpReply } from './http.ts';
import { PostingClient, type PostingClientOptions } from './posting-client.ts';

export interface SseClientOptions extends PostingClientOptions {
  /** How long the server may take to name its endpoint. Milliseconds, default 30 000; 0 for ever. */
  readonly openTimeout?: number | undefined;
}

const OPEN_TIMEOUT = 30_000;

/**
 * The client's end of HTTP+SSE (2024-11-05, transports: HTTP with SSE): what the server says comes on one event stream, and
 * where messages are posted to is the first that it says.
 *
 * `start` rejects with HttpStatusError where there is no such stream, and with an error where the endpoint is of another
 * origin: credentials must not go there. `send` resolves when the server has accepted a message. The stream is the session:
 * where it ends, the transport closes, and `closeReason` says why.
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
    const late = (): void =>
      this.#stream.abort(new AnswerLost(`${shown(this.url)} named no endpoint within ${limit} ms`));
    const deadline = new Deadline({ timeout: limit }, late, this.endpoint.loginActiveUntil);
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

  /** The endpoint was there when the session was opened. */
  protected judged(error: unknown): unknown {
    if (!(error instanceof HttpStatusError) || error.status !== 404) return error;
    this.gone();
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
      throw statusError(reply, 'GET', this.url, 'without an event stream');
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

  #read(reply: HttpReply, opened: () => void): Promise<void> {
    return readEvents(reply, {
      cancellation: this.#stream,
      idleTimeout: this.idleTimeout,
      maxEventLength: this.maxMessageBytes,
      caughtUp: () => this.answers.caughtUp(),
      onevent: ({ type, data }) => {
        if (type === 'message' && data !== '') return this.incoming.take(data);
        if (type !== 'endpoint' || this.phase !== 'opening') return;
        const target = URL.canParse(data, this.url.href) ? new URL(data, this.url) : undefined;
        if (target?.origin !== this.url.origin) {
          const where = target ? `an endpoint of another origin, ${target.origin}` : 'no endpoint that is an address';
          throw new Error(`${shown(this.url)} names ${where}`);
        }
        this.target = target;
        this.phase = 'open';
        opened();
      },
    });
  }
}
