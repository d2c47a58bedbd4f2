import { RpcError } from '../../../jsonrpc/errors.ts';
import {
  errorResponse,
  isNotification,
  isRequest,
  isResponse,
  type Message,
  type Request,
  type RequestId,
} from '../../../jsonrpc/message.ts';
import { IdTable } from '../../../jsonrpc/id-table.ts';
import { CONNECTION_CLOSED } from '../../../jsonrpc/pending.ts';
import { stringify } from '../../../jsonrpc/stringify.ts';
import { isTemporary } from '../../../jsonrpc/error-chain.ts';
import { profileOf } from '../../../protocol/revisions.ts';
import type { MessageExtra, Transport } from '../../transport.ts';
import { AnswersInFlight } from './answers-in-flight.ts';
import { attendedTimer } from './attendance.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Endpoint, IDLE_TIMEOUT, isType, MAX_MESSAGE_BYTES, type HttpClientOptions } from './endpoint.ts';
import { AnswerLost, HttpStatusError, saysGone, SessionGone, shown, statusError } from './errors.ts';
import type { HttpReply } from './http.ts';
import { Incoming } from './incoming.ts';
import type { ReconnectionOptions } from './reconnection.ts';
import { ServerStream } from './server-stream.ts';

export interface StreamableClientOptions extends HttpClientOptions {
  /** When a stream that broke off is given up. */
  readonly reconnection?: ReconnectionOptions | undefined;
  /** How much may wait to be taken by the server, in UTF-16 code units; beyond it `send` rejects. Default 64 Mi. */
  readonly maxPending?: number | undefined;
  /** How long a server may take to accept a notification or an answer. Milliseconds, default 30 000; 0 for ever. */
  readonly acceptTimeout?: number | undefined;
}

const MAX_PENDING = 64 * 1024 * 1024;
const ACCEPT_TIMEOUT = 30_000;
const ACCEPT = 'application/json, text/event-stream';
/** How long the end of a session waits for the verdict on what was being sent, and for its deletion. Milliseconds. */
const END_TIMEOUT = 1000;
/** How long after it was given up the stream of the session is tried again, by the next message. Milliseconds. */
const LISTEN_AGAIN_AFTER = 60_000;
/** 2025-11-25, transports: Session Management, 1: visible ASCII. The length is ours. */
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;
/** With these a request is turned away, whatever the body says. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429, 503]);

/** A request that is not answered yet. */
interface Asked {
  readonly method: string;
  /** The stream of its response. */
  readonly stream: ServerStream;
  /** Nobody waits for the answer any more. */
  cancelled: boolean;
}

/**
 * The client's end of Streamable HTTP in the revisions with a handshake (2025-03-26, 2025-06-18, 2025-11-25: transports).
 *
 * Each message is a POST. `send` resolves when the server has taken a message, for a request when its response begins;
 * it rejects with
 * - `SessionGone` where the server no longer knows the session: the message did not run. The transport closes then;
 * - `NotSent` where the server cannot be reached, `AnswerLost` where it was lost before it answered;
 * - `RpcError` where the server answered with a JSON-RPC error and a status that is no success, which is its cause;
 *   `HttpStatusError` where there was none in it, or where the request was refused (401, 403, 429, 503).
 *
 * `certainlyNotExecuted` tells which of these can be repeated. Where a stream ends before its request is answered, it is
 * resumed, if it had an event id to resume from. A request whose stream is lost for good is answered with an error of code
 * −32000, at once, whose `cause` (`MessageExtra`) is an `AnswerLost`.
 */
export class StreamableClient implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  readonly #url: URL;
  readonly #endpoint: Endpoint;
  readonly #incoming: Incoming;
  readonly #maxMessageBytes: number;
  readonly #idleTimeout: number;
  readonly #maxPending: number;
  readonly #acceptTimeout: number;
  readonly #reconnection: ReconnectionOptions;
  /** `ending`: the session is gone, and what was being sent waits for its verdict. */
  #phase: 'new' | 'open' | 'ending' | 'closed' = 'new';
  #reason: Error | undefined;
  #sessionId: string | undefined;
  #version: string | undefined;
  readonly #asked = new IdTable<RequestId, Asked>();
  /** Messages that are neither taken nor refused yet and are no requests. */
  readonly #telling = new Set<Lifetime>();
  readonly #answers = new AnswersInFlight();
  /** All streams that are open, or to be opened again, by numbers of their own. */
  readonly #streams = new IdTable<number, ServerStream>();
  #lastStream = 0;
  /** How many messages are neither taken nor refused yet, and their length. */
  #sending = 0;
  #pending = 0;
  /** Resolves when `notifications/initialized` was taken: nothing may overtake it. */
  #initialized: Promise<void> | undefined;
  /** The last of the notifications, which are sent one after the other. */
  #lastNotification: Promise<void> = Promise.resolve();
  /** The stream of the session. */
  #listener: ServerStream | undefined;
  /** Whether the server has had such a stream. */
  #listened = false;
  /** When a stream of the session that was given up may be tried again. */
  #listenAgainAt = Infinity;
  #endTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(url: URL, options: StreamableClientOptions = {}) {
    this.#url = url;
    this.#endpoint = new Endpoint(options);
    this.#maxMessageBytes = options.maxMessageBytes ?? MAX_MESSAGE_BYTES;
    this.#idleTimeout = options.idleTimeout ?? IDLE_TIMEOUT;
    this.#maxPending = options.maxPending ?? MAX_PENDING;
    this.#acceptTimeout = options.acceptTimeout ?? ACCEPT_TIMEOUT;
    this.#reconnection = options.reconnection ?? {};
    this.#incoming = new Incoming({
      deliver: (message, extra) => this.#deliver(message, extra),
      report: (error) => this.#report(error),
      answer: (response) => void this.send(response).catch((error: Error) => this.#report(error)),
    });
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /** Why the transport closed, where it was not closed by `close`. */
  get closeReason(): Error | undefined {
    return this.#reason;
  }

  start(): Promise<void> {
    if (this.#phase === 'closed') return Promise.reject(new Error('The connection is closed'));
    if (this.#phase !== 'new') return Promise.reject(new Error('The transport is started already'));
    this.#phase = 'open';
    return Promise.resolve();
  }

  setProtocolVersion(version: string): void {
    const profile = profileOf(version);
    this.#incoming.profile = profile;
    this.#version = profile && !profile.versionHeader ? undefined : version;
  }

  async send(message: Message): Promise<void> {
    this.#checkOpen();
    const body = stringify(message);
    this.#incoming.sending(message);
    if (this.#pending + body.length > this.#maxPending) {
      throw new Error(`More than ${this.#maxPending} characters wait to be taken by the server`);
    }
    this.#pending += body.length;
    this.#sending += 1;
    try {
      await this.#dispatch(message, body);
    } finally {
      this.#pending -= body.length;
      this.#sending -= 1;
      // Whoever sent the message hears of its end before that of the connection.
      if (this.#phase === 'ending' && this.#sending === 0) setImmediate(() => this.#finish());
    }
  }

  async close(): Promise<void> {
    if (this.#phase === 'closed') return;
    const open = this.#phase === 'open';
    this.#finish();
    if (open && this.#sessionId !== undefined) await this.#deleteSession(this.#sessionId);
  }

  #checkOpen(): void {
    if (this.#phase === 'open') return;
    if (this.#reason instanceof SessionGone) throw new SessionGone(true);
    throw new Error(this.#phase === 'new' ? 'The transport is not started' : 'The connection is closed');
  }

  #dispatch(message: Message, body: string): Promise<void> {
    if (isNotification(message) && message.method === 'notifications/initialized') {
      const taken = this.#tell(body);
      // Those that wait for it go on whatever has become of it; who sent it hears of that.
      this.#initialized = taken.then(
        () => void this.#listen(),
        () => {},
      );
      return taken;
    }
    return this.#initialized
      ? this.#initialized.then(() => this.#sendNow(message, body))
      : this.#sendNow(message, body);
  }

  #sendNow(message: Message, body: string): Promise<void> {
    if (isRequest(message)) return this.#ask(message, body);
    if (isResponse(message)) return this.#answers.send(() => this.#tell(body));
    if (message.method === 'notifications/cancelled') {
      const id = message.params?.['requestId'] as RequestId;
      const asked = this.#asked.get(id);
      return this.#tell(body).finally(() => asked && this.#cancel(id, asked));
    }
    const taken = this.#lastNotification.then(() => this.#tell(body));
    this.#lastNotification = taken.catch(() => {});
    return taken;
  }

  /** Sends what has no answer (2025-11-25, transports: Sending Messages, 4). */
  async #tell(body: string): Promise<void> {
    const cancellation = new Lifetime();
    this.#telling.add(cancellation);
    const end = attendedTimer(this.#acceptTimeout, this.#endpoint.loginActiveUntil, () =>
      cancellation.abort(new AnswerLost(`The server did not accept a message within ${this.#acceptTimeout} ms`)),
    );
    try {
      const reply = await this.#post(body, cancellation);
      reply.discard();
      this.#listenAgain();
    } catch (error) {
      throw this.#judged(error);
    } finally {
      end();
      this.#telling.delete(cancellation);
    }
  }

  async #ask({ id, method }: Request, body: string): Promise<void> {
    if (this.#asked.has(id)) throw new Error(`id ${JSON.stringify(id)} is still in use`);
    const stream = this.#stream(id);
    const asked: Asked = { method, stream, cancelled: false };
    this.#asked.set(id, asked);
    let follows = false;
    try {
      const reply = await this.#post(body, stream.cancellation);
      if (method === 'initialize') this.#keepSession(reply);
      if (isType(reply, 'text/event-stream')) {
        follows = true;
        void this.#follow(id, asked, reply);
      } else {
        await this.#readAnswer(id, reply);
      }
      this.#listenAgain();
    } catch (error) {
      this.#asked.delete(id);
      if (!asked.cancelled) throw this.#judged(error);
    } finally {
      if (!follows) this.#streams.delete(stream.number);
    }
  }

  async #readAnswer(id: RequestId, reply: HttpReply): Promise<void> {
    if (!isType(reply, 'application/json')) {
      const type = reply.header('content-type');
      reply.discard();
      throw statusError(
        reply,
        'POST',
        this.#url,
        type === undefined ? 'without a response' : `as ${type}, not as JSON`,
      );
    }
    const text = await reply.text(this.#maxMessageBytes);
    if (this.#phase === 'closed') return;
    this.#incoming.take(text, id);
    if (this.#asked.has(id)) {
      throw new AnswerLost(`${shown(this.#url)} answered with what is no response to the request`);
    }
  }

  /** Reads the stream of a request until it is answered, over as many connections as that takes. */
  async #follow(id: RequestId, asked: Asked, reply: HttpReply): Promise<void> {
    try {
      await asked.stream.follow(reply);
    } catch (error) {
      if (this.#asked.get(id) !== asked) return;
      this.#judged(error);
      const message = `The answer to ${asked.method} was lost: ${(error as Error).message}`;
      const cause = new AnswerLost(message, { cause: error });
      this.#deliver(errorResponse(id, { code: CONNECTION_CLOSED, message }), { cause });
    } finally {
      this.#streams.delete(asked.stream.number);
    }
  }

  /** @param asked the request that the stream belongs to; none for that of the session. */
  #stream(asked?: RequestId): ServerStream {
    const stream = new ServerStream(++this.#lastStream, {
      connect: async (lastEventId, cancellation) => {
        const reply = await this.#get(lastEventId, cancellation);
        if (asked === undefined) this.#listened = true;
        return reply;
      },
      onmessage: (data) => this.#incoming.take(data, asked),
      caughtUp: () => this.#answers.caughtUp(),
      always: asked === undefined,
      idleTimeout: this.#idleTimeout,
      maxEventLength: this.#maxMessageBytes,
      reconnection: this.#reconnection,
    });
    this.#streams.set(stream.number, stream);
    return stream;
  }

  #post(body: string, cancellation: Lifetime): Promise<HttpReply> {
    this.#checkOpen();
    return this.#endpoint.send({
      method: 'POST',
      url: this.#url,
      headers: this.#headers({ accept: ACCEPT, 'content-type': 'application/json' }),
      body,
      cancellation,
    });
  }

  async #get(lastEventId: string | undefined, cancellation: Lifetime): Promise<HttpReply> {
    const headers = this.#headers({ accept: 'text/event-stream' });
    // In UTF-8 (HTML standard, section 9.2.4), whose bytes headers take as characters.
    if (lastEventId !== undefined) headers['last-event-id'] = Buffer.from(lastEventId).toString('latin1');
    const reply = await this.#endpoint.send({ method: 'GET', url: this.#url, headers, cancellation });
    if (isType(reply, 'text/event-stream')) return reply;
    reply.discard();
    throw statusError(reply, 'GET', this.#url, 'without an event stream');
  }

  #headers(headers: Record<string, string>): Record<string, string> {
    if (this.#sessionId !== undefined) headers['mcp-session-id'] = this.#sessionId;
    if (this.#version !== undefined) headers['mcp-protocol-version'] = this.#version;
    return headers;
  }

  #keepSession(reply: HttpReply): void {
    const id = reply.header('mcp-session-id');
    if (id === undefined) return;
    if (!SESSION_ID.test(id)) throw new AnswerLost('The server gave a session id that no header can carry');
    this.#sessionId = id;
  }

  /** Opens the stream of the session (2025-11-25, transports: Listening for Messages from the Server). */
  async #listen(): Promise<void> {
    if (this.#listener || this.#phase !== 'open') return;
    this.#listenAgainAt = Infinity;
    const stream = this.#stream();
    this.#listener = stream;
    try {
      await stream.follow();
    } catch (error) {
      // A server need not have such a stream, and says 405 then (2025-11-25, transports: Listening for Messages from the
      // Server, 2). Some say it with a success that is no stream. Those that have nothing at all for GET say 404: were the
      // session gone, the next POST would say so. One that says so of a stream that it had is another server.
      const status = error instanceof HttpStatusError ? error.status : undefined;
      if (status === 405 && this.#listened) return this.#gone();
      if (status === 405 || (status === 404 && !this.#listened) || (status !== undefined && status < 300)) return;
      if (this.#judged(error) instanceof SessionGone) return;
      this.#report(new Error(`The server cannot be listened to: ${(error as Error).message}`, { cause: error }));
      if (isTemporary(error) === true) this.#listenAgainAt = performance.now() + LISTEN_AGAIN_AFTER;
    } finally {
      this.#streams.delete(stream.number);
      this.#listener = undefined;
    }
  }

  /** The server answers: a stream that was given up may be to be had again. */
  #listenAgain(): void {
    if (performance.now() >= this.#listenAgainAt) void this.#listen();
  }

  #deliver(message: Message, extra: MessageExtra | undefined): void {
    if (this.#phase === 'closed') return;
    if (isResponse(message) && message.id !== undefined) {
      const asked = this.#asked.get(message.id);
      this.#asked.delete(message.id);
      asked?.stream.end();
    }
    try {
      this.onmessage?.(message, extra);
    } catch (error) {
      this.#report(error as Error);
    }
  }

  /** Nobody waits for the answer any more. */
  #cancel(id: RequestId, asked: Asked): void {
    if (this.#asked.get(id) !== asked) return;
    asked.cancelled = true;
    this.#asked.delete(id);
    asked.stream.stop(new AnswerLost(`${asked.method} was cancelled`));
  }

  /** What an error of the endpoint means here; where it means the end of the session, that has begun. */
  #judged(error: unknown): unknown {
    if (!(error instanceof HttpStatusError)) return error;
    if (this.#sessionId !== undefined && saysGone(error)) {
      this.#gone();
      return new SessionGone(true);
    }
    if (!error.response || REFUSALS.has(error.status)) return error;
    const { code, message, data } = error.response.error;
    return new RpcError(code, message, { data, cause: error });
  }

  /** The session is gone. What is being sent is told so by the server itself, if it is quick about it. */
  #gone(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'ending';
    this.#reason = new SessionGone(false);
    this.#endTimer = setTimeout(() => this.#finish(), END_TIMEOUT);
    if (this.#sending === 0) setImmediate(() => this.#finish());
  }

  #finish(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    clearTimeout(this.#endTimer);
    const reason = this.#reason ?? new AnswerLost('The connection was closed');
    this.#asked.clear();
    for (const stream of this.#streams.values()) stream.stop(reason);
    for (const cancellation of this.#telling) cancellation.abort(reason);
    try {
      this.onclose?.();
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  /** Ends the session at the server too (2025-11-25, transports: Session Management, 5). */
  async #deleteSession(id: string): Promise<void> {
    const cancellation = new Lifetime();
    const timer = setTimeout(() => cancellation.abort(new AnswerLost('The server does not answer')), END_TIMEOUT);
    const headers = this.#headers({ 'mcp-session-id': id });
    try {
      const reply = await this.#endpoint.send({
        method: 'DELETE',
        url: this.#url,
        headers,
        cancellation,
        once: true,
      });
      reply.discard();
    } catch {
      // The server may refuse it (405), or be gone; the session then ends when its time is over.
    } finally {
      clearTimeout(timer);
    }
  }

  #report(error: Error): void {
    if (this.#phase !== 'closed') this.onerror?.(error);
  }
}
