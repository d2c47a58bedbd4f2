import { isNotification, isResponse, type Message } from '../../../jsonrpc/message.ts';
import { stringify } from '../../../jsonrpc/stringify.ts';
import { profileOf } from '../../../protocol/revisions.ts';
import type { Transport } from '../../transport.ts';
import { AnswersInFlight } from './answers-in-flight.ts';
import { attendedTimer } from './attendance.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Endpoint, IDLE_TIMEOUT, isType, MAX_MESSAGE_BYTES, type HttpClientOptions } from './endpoint.ts';
import { AnswerLost, HttpStatusError, SessionGone, shown, statusError } from './errors.ts';
import { readEvents } from './event-stream.ts';
import type { HttpReply } from './http.ts';
import { Incoming } from './incoming.ts';

export interface SseClientOptions extends HttpClientOptions {
  /** How long the server may take to name its endpoint. Milliseconds, default 30 000; 0 for ever. */
  readonly openTimeout?: number | undefined;
  /** How long the server may take to accept a message. Milliseconds, default 30 000; 0 for ever. */
  readonly acceptTimeout?: number | undefined;
  /** How much may wait to be taken by the server, in UTF-16 code units; beyond it `send` rejects. Default 64 Mi. */
  readonly maxPending?: number | undefined;
}

const OPEN_TIMEOUT = 30_000;
const ACCEPT_TIMEOUT = 30_000;
const MAX_PENDING = 64 * 1024 * 1024;

/**
 * The client's end of HTTP+SSE (2024-11-05, transports: HTTP with SSE): what the server says comes on one event stream, and
 * where messages are posted to is the first that it says.
 *
 * `start` rejects with HttpStatusError where there is no such stream, and with an error where the endpoint is of another
 * origin: credentials must not go there. `send` resolves when the server has accepted a message. The stream is the session:
 * where it ends, the transport closes, and `closeReason` says why.
 */
export class SseClient implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  readonly #url: URL;
  readonly #http: Endpoint;
  readonly #options: SseClientOptions;
  readonly #incoming: Incoming;
  #phase: 'new' | 'opening' | 'open' | 'closed' = 'new';
  #reason: Error | undefined;
  /** Where messages go. A secret: it names the session. */
  #target: URL | undefined;
  #version: string | undefined;
  readonly #stream = new Lifetime();
  readonly #telling = new Set<Lifetime>();
  readonly #answers = new AnswersInFlight();
  #pending = 0;
  /** Resolves when `notifications/initialized` was taken or refused: nothing may overtake it. */
  #initialized: Promise<void> | undefined;
  /** The last of the notifications, which are sent one after the other. */
  #lastNotification: Promise<void> = Promise.resolve();

  constructor(url: URL, options: SseClientOptions = {}) {
    this.#url = url;
    this.#http = new Endpoint(options);
    this.#options = options;
    this.#incoming = new Incoming({
      deliver: (message, extra) => {
        if (this.#phase === 'closed') return;
        try {
          this.onmessage?.(message, extra);
        } catch (error) {
          this.#report(error as Error);
        }
      },
      report: (error) => this.#report(error),
      answer: (response) => void this.send(response).catch((error: Error) => this.#report(error)),
    });
  }

  /** Why the transport closed, where it was not closed by `close`. */
  get closeReason(): Error | undefined {
    return this.#reason;
  }

  async start(): Promise<void> {
    if (this.#phase !== 'new') {
      throw new Error(this.#phase === 'closed' ? 'The connection is closed' : 'The transport is started already');
    }
    this.#phase = 'opening';
    const limit = this.#options.openTimeout ?? OPEN_TIMEOUT;
    const end = attendedTimer(limit, this.#http.loginActiveUntil, () =>
      this.#stream.abort(new AnswerLost(`${shown(this.#url)} named no endpoint within ${limit} ms`)),
    );
    try {
      await this.#connect();
    } catch (error) {
      this.#end(error as Error);
      throw error;
    } finally {
      end();
    }
  }

  setProtocolVersion(version: string): void {
    const profile = profileOf(version);
    this.#incoming.profile = profile;
    this.#version = profile && !profile.versionHeader ? undefined : version;
  }

  async send(message: Message): Promise<void> {
    if (this.#phase !== 'open') {
      throw (
        this.#reason ??
        new Error(this.#phase === 'closed' ? 'The connection is closed' : 'The transport is not started')
      );
    }
    const body = stringify(message);
    this.#incoming.sending(message);
    const maxPending = this.#options.maxPending ?? MAX_PENDING;
    if (this.#pending + body.length > maxPending) {
      throw new Error(`More than ${maxPending} characters wait to be taken by the server`);
    }
    this.#pending += body.length;
    try {
      await this.#dispatch(message, body);
    } finally {
      this.#pending -= body.length;
    }
  }

  #dispatch(message: Message, body: string): Promise<void> {
    if (isNotification(message) && message.method === 'notifications/initialized') {
      const taken = this.#post(body);
      // Those that wait for it go on whatever has become of it; who sent it hears of that.
      this.#initialized = taken.catch(() => {});
      return taken;
    }
    return this.#initialized
      ? this.#initialized.then(() => this.#sendNow(message, body))
      : this.#sendNow(message, body);
  }

  /** Notifications go one after the other, a few answers at a time; cancellations and requests wait for nothing that is slow. */
  #sendNow(message: Message, body: string): Promise<void> {
    if (isResponse(message)) return this.#answers.send(() => this.#post(body));
    if (!isNotification(message) || message.method === 'notifications/cancelled') return this.#post(body);
    const taken = this.#lastNotification.then(() => this.#post(body));
    this.#lastNotification = taken.catch(() => {});
    return taken;
  }

  close(): Promise<void> {
    this.#end(undefined);
    return Promise.resolve();
  }

  async #connect(): Promise<void> {
    const reply = await this.#http.send({
      method: 'GET',
      url: this.#url,
      headers: { accept: 'text/event-stream' },
      cancellation: this.#stream,
    });
    if (!isType(reply, 'text/event-stream')) {
      reply.discard();
      throw statusError(reply, 'GET', this.#url, 'without an event stream');
    }
    await new Promise<void>((resolve, reject) => {
      this.#read(reply, resolve).then(
        () => {
          const error = new AnswerLost(`${shown(this.#url)} ended its event stream`);
          reject(error);
          this.#end(error);
        },
        (error: Error) => {
          reject(error);
          this.#end(error);
        },
      );
    });
  }

  #read(reply: HttpReply, opened: () => void): Promise<void> {
    return readEvents(reply, {
      cancellation: this.#stream,
      idleTimeout: this.#options.idleTimeout ?? IDLE_TIMEOUT,
      maxEventLength: this.#options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
      caughtUp: () => this.#answers.caughtUp(),
      onevent: ({ type, data }) => {
        if (type === 'message' && data !== '') return this.#incoming.take(data);
        if (type !== 'endpoint' || this.#phase !== 'opening') return;
        const target = URL.canParse(data, this.#url.href) ? new URL(data, this.#url) : undefined;
        if (target?.origin !== this.#url.origin) {
          const where = target ? `an endpoint of another origin, ${target.origin}` : 'no endpoint that is an address';
          throw new Error(`${shown(this.#url)} names ${where}`);
        }
        this.#target = target;
        this.#phase = 'open';
        opened();
      },
    });
  }

  async #post(body: string): Promise<void> {
    const limit = this.#options.acceptTimeout ?? ACCEPT_TIMEOUT;
    const cancellation = new Lifetime();
    this.#telling.add(cancellation);
    const end = attendedTimer(limit, this.#http.loginActiveUntil, () =>
      cancellation.abort(new AnswerLost(`The server did not accept a message within ${limit} ms`)),
    );
    try {
      if (this.#phase === 'closed') throw this.#reason ?? new Error('The connection is closed');
      const headers: Record<string, string> = { 'content-type': 'application/json' };
      if (this.#version !== undefined) headers['mcp-protocol-version'] = this.#version;
      const reply = await this.#http.send({ method: 'POST', url: this.#target!, headers, body, cancellation });
      reply.discard();
    } catch (error) {
      if (!(error instanceof HttpStatusError) || error.status !== 404) throw error;
      // The endpoint was there when the session was opened. Whoever sent the message hears of it before all others.
      setImmediate(() => this.#end(new SessionGone(false)));
      throw new SessionGone(true);
    } finally {
      end();
      this.#telling.delete(cancellation);
    }
  }

  #end(reason: Error | undefined): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#reason = reason;
    const why = reason ?? new AnswerLost('The connection was closed');
    this.#stream.abort(why);
    for (const cancellation of this.#telling) cancellation.abort(why);
    try {
      this.onclose?.();
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  #report(error: Error): void {
    if (this.#phase !== 'closed') this.onerror?.(error);
  }
}
