import { RpcError } from '../../../jsonrpc/errors.ts';
import {
  errorResponse,
  isNotification,
  isResponse,
  type Message,
  type Notification,
  type Request,
  type JsonObject,
  type RequestId,
  resultResponse,
} from '../../../jsonrpc/message.ts';
import { IdTable } from '../../../jsonrpc/id-table.ts';
import { CONNECTION_CLOSED } from '../../../jsonrpc/pending.ts';
import { isTemporary } from '../../../jsonrpc/error-chain.ts';
import { Method, NotificationMethod } from '../../../protocol/methods.ts';
import { SENT_AT_ONCE, type MessageExtra } from '../../transport.ts';
import { decodeLatin1, encodeUtf8 } from '../../../base/bytes.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { quoting, shortJson, shortText } from '../../../base/short-text.ts';
import { isType, notJson, REFUSALS } from './endpoint.ts';
import { AnswerLost, HttpStatusError, isSessionGone, SessionGone, shown, statusError } from './errors.ts';
import type { HttpReply } from './http.ts';
import type { KeptSession, SessionKeeper } from './kept-session.ts';
import { END_TIMEOUT, PostingClient, type PostingClientOptions } from './posting-client.ts';
import { parsedInTurn } from './parsed-in-turn.ts';
import type { ReconnectionOptions } from './reconnection.ts';
import { ServerStream } from './server-stream.ts';

export interface StreamableClientOptions extends PostingClientOptions {
  /** When to stop reconnecting a stream. */
  readonly reconnection?: ReconnectionOptions | undefined;
  /** Keeps the session for other processes. Default: the session ends with the transport. */
  readonly keeper?: SessionKeeper | undefined;
  /** A session of another process, with which this transport goes on. Its `initialize` is answered without the server. */
  readonly kept?: KeptSession | undefined;
}

/** How many request ids each process has that goes on with a session. */
const IDS_OF_ONE = 100_000_000;

const ACCEPT = 'application/json, text/event-stream';
/**
 * After reconnecting has failed, the next message after this delay tries to open the session's stream again.
 * Milliseconds.
 */
const LISTEN_RETRY_DELAY = 60_000;
/** 2025-11-25, transports: Session Management, 1: visible ASCII. The maximum length is our choice. */
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

/** A request without a response yet. */
interface PendingRequest {
  readonly method: string;
  /** The stream that may carry its response. */
  readonly stream: ServerStream;
  /** Whether the request was cancelled, so that nobody waits for the response. */
  cancelled: boolean;
}

/**
 * The client's side of Streamable HTTP in the revisions with a handshake (2025-03-26, 2025-06-18, 2025-11-25:
 * transports).
 *
 * Each message is a POST. `send` of a request resolves when its response begins; `send` of any other message resolves
 * when the server has accepted it. `send` rejects with
 * - `SessionGone` if the server no longer knows the session. The message did not run, and the transport closes;
 * - `NotSent` if the server cannot be reached, `AnswerLost` if the connection was lost before the answer;
 * - `RpcError` if the server sent a JSON-RPC error with an error status. Its cause is the `HttpStatusError`;
 * - `HttpStatusError` if there is no JSON-RPC error, or if the server refused the request (401, 403, 429, 503).
 *
 * `certainlyNotExecuted` says which of these errors allow a retry. If a stream ends before its response, it is resumed
 * after the last event id, if there was one. If it cannot be resumed, the request gets an error response with code
 * −32000, whose `cause` (`MessageExtra`) is an `AnswerLost`.
 */
export class StreamableClient extends PostingClient {
  readonly #reconnection: ReconnectionOptions;
  readonly #keeper: SessionKeeper | undefined;
  readonly #kept: KeptSession | undefined;
  #sessionId: string | undefined;
  /** The result of `initialize`. */
  #opened: JsonObject | undefined;
  readonly #pendingRequests = new IdTable<RequestId, PendingRequest>();
  /** All streams that are open or will reconnect. */
  readonly #streams = new IdTable<number, ServerStream>();
  #lastStream = 0;
  /** The session's own stream, opened with GET. */
  #listener: ServerStream | undefined;
  /** Whether the server has ever opened the session's stream. */
  #hadListener = false;
  /**
   * When to try again to open the session's stream after reconnecting has failed. In the time of `performance.now()`.
   */
  #retryListeningAt = Infinity;

  constructor(url: URL, options: StreamableClientOptions = {}) {
    super(url, options);
    this.#reconnection = options.reconnection ?? {};
    this.#keeper = options.keeper;
    this.#kept = options.kept;
    this.#sessionId = options.kept?.id;
  }

  /** The last request id that may have been used in the session (2025-11-25, basic: Requests). */
  get lastId(): number {
    return this.#kept ? (this.#kept.takenOver + 1) * IDS_OF_ONE : 0;
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  start(): Promise<void> {
    if (this.phase === 'closed') return Promise.reject(new Error('The connection is closed'));
    if (this.phase !== 'new') return Promise.reject(new Error('The transport has already been started'));
    this.phase = 'open';
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const ends = this.phase === 'open' && this.#keeper?.goesOn !== true;
    this.finish();
    if (!ends) return;
    this.#keeper?.keep(undefined);
    if (this.#sessionId !== undefined) await this.#deleteSession(this.#sessionId);
  }

  override send(message: Message): Promise<void> {
    const isKnown = this.#kept && isNotification(message) && message.method === NotificationMethod.Initialized;
    if (!isKnown) return super.send(message);
    this.initialized();
    return SENT_AT_ONCE;
  }

  protected override initialized(): void {
    void this.#listen();
    if (this.#sessionId === undefined || !this.#opened) return;
    const takenOver = this.#kept ? this.#kept.takenOver + 1 : 0;
    this.#keeper?.keep({ id: this.#sessionId, opened: this.#opened, takenOver });
  }

  /** The server no longer knows the session. */
  protected override endSession(): void {
    if (this.phase === 'open') this.#keeper?.keep(undefined);
    super.endSession();
  }

  protected override async postOneWay(body: string, attempts?: number): Promise<void> {
    await super.postOneWay(body, attempts);
    this.#retryListening();
  }

  protected override async postCancellation({ params }: Notification, body: string): Promise<void> {
    const id = params?.['requestId'] as RequestId;
    const pending = this.#pendingRequests.get(id);
    if (pending) pending.cancelled = true;
    try {
      await this.postOneWay(body);
    } finally {
      if (pending) this.#abandon(id, pending);
    }
  }

  protected override async postRequest({ id, method }: Request, body: string): Promise<void> {
    if (this.#pendingRequests.has(id)) throw new Error(`id ${shortJson(id)} is still in use`);
    const stream = this.#createStream(id);
    const pending: PendingRequest = { method, stream, cancelled: false };
    this.#pendingRequests.set(id, pending);
    let isStream = false;
    try {
      if (method === Method.Initialize && this.#kept) return await this.#goOn(id, this.#kept, stream);
      const reply = await this.post(body, stream.cancellation, () => pending.cancelled);
      if (method === Method.Initialize) this.#storeSessionId(reply);
      if (isType(reply, 'text/event-stream')) {
        isStream = true;
        void this.#follow(id, pending, reply);
      } else {
        await this.#readAnswer(id, reply);
      }
      this.#retryListening();
    } catch (error) {
      this.#pendingRequests.delete(id);
      if (!pending.cancelled) throw this.translateError(error);
    } finally {
      if (!isStream) this.#streams.delete(stream.number);
    }
  }

  /** Goes on with a session that another process has opened, if the server still knows it. */
  async #goOn(id: RequestId, { opened }: KeptSession, { cancellation }: ServerStream): Promise<void> {
    this.setProtocolVersion(String(opened['protocolVersion']));
    const ping: Request = { jsonrpc: '2.0', id: `everwire-${this.lastId}`, method: Method.Ping };
    (await this.post(JSON.stringify(ping), cancellation)).discard();
    this.deliver(resultResponse(id, opened), undefined);
  }

  async #readAnswer(id: RequestId, reply: HttpReply): Promise<void> {
    if (!isType(reply, 'application/json')) throw notJson(reply, this.url);
    await parsedInTurn(await reply.text(this.maxMessageBytes), this.url.origin, (text) => {
      if (this.phase !== 'closed') this.incoming.receive(text, id);
    });
    if (this.phase === 'closed') return;
    if (this.#pendingRequests.has(id)) {
      throw new AnswerLost(`${shown(this.url)} sent JSON that is not a response to the request`);
    }
  }

  /** Reads the stream of a request until its response has come, with reconnections if necessary. */
  async #follow(id: RequestId, pending: PendingRequest, reply: HttpReply): Promise<void> {
    try {
      await pending.stream.follow(reply);
    } catch (error) {
      if (this.#pendingRequests.get(id) !== pending) return;
      this.translateError(error);
      const message = `The answer to ${shortText(pending.method)} was lost: ${(error as Error).message}`;
      const cause = new AnswerLost(message, { cause: error });
      this.deliver(errorResponse(id, { code: CONNECTION_CLOSED, message }), { cause });
    } finally {
      this.#streams.delete(pending.stream.number);
    }
  }

  /** @param requestId the request that the stream belongs to. Undefined for the session's own stream. */
  #createStream(requestId?: RequestId): ServerStream {
    const stream = new ServerStream(++this.#lastStream, {
      connect: async (lastEventId, cancellation) => {
        const reply = await this.#get(lastEventId, cancellation);
        if (requestId === undefined) this.#hadListener = true;
        return reply;
      },
      onmessage: (data) => this.incoming.receive(data, requestId),
      caughtUp: () => this.answers.caughtUp(),
      alwaysReconnects: requestId === undefined,
      idleTimeout: this.idleTimeout,
      maxEventLength: this.maxMessageBytes,
      peer: this.url.origin,
      reconnection: this.#reconnection,
    });
    this.#streams.set(stream.number, stream);
    return stream;
  }

  async #get(lastEventId: string | undefined, cancellation: Lifetime): Promise<HttpReply> {
    const headers = this.headers({ accept: 'text/event-stream' });
    // The id is sent as UTF-8 (HTML standard, section 9.2.4). Each byte becomes one character of the header.
    if (lastEventId !== undefined) headers['last-event-id'] = decodeLatin1(encodeUtf8(lastEventId));
    const reply = await this.endpoint.send({ method: 'GET', url: this.url, headers, cancellation });
    if (isType(reply, 'text/event-stream')) return reply;
    reply.discard();
    throw statusError(reply, 'GET', this.url, 'the response is not an event stream');
  }

  protected override headers(headers: Record<string, string>): Record<string, string> {
    if (this.#sessionId !== undefined) headers['mcp-session-id'] = this.#sessionId;
    return super.headers({ accept: ACCEPT, ...headers });
  }

  #storeSessionId(reply: HttpReply): void {
    const id = reply.header('mcp-session-id');
    if (id === undefined) return;
    if (!SESSION_ID.test(id)) throw new AnswerLost('The server sent a session id that is not valid in a header');
    this.#sessionId = id;
  }

  /** Opens the session's stream (2025-11-25, transports: Listening for Messages from the Server). */
  async #listen(): Promise<void> {
    if (this.#listener || this.phase !== 'open') return;
    this.#retryListeningAt = Infinity;
    const stream = this.#createStream();
    this.#listener = stream;
    try {
      await stream.follow();
    } catch (error) {
      // The stream is optional. A server without it responds with 405 (2025-11-25, transports: Listening for Messages
      // from the Server, 2). Some respond with a success status and another content type. A server without a GET
      // handler responds with 404; if instead the session were gone, the next POST would show it. If a server that had
      // the stream responds with 405, it is another server.
      const status = error instanceof HttpStatusError ? error.status : undefined;
      if (status === 405 && this.#hadListener) return this.endSession();
      if (status === 405 || (status === 404 && !this.#hadListener) || (status !== undefined && status < 300)) return;
      if (this.translateError(error) instanceof SessionGone) return;
      this.report(new Error(`The server's stream cannot be opened: ${(error as Error).message}`, { cause: error }));
      if (isTemporary(error) === true) this.#retryListeningAt = performance.now() + LISTEN_RETRY_DELAY;
    } finally {
      this.#streams.delete(stream.number);
      this.#listener = undefined;
    }
  }

  /** The server responds again, so its stream may be available again. */
  #retryListening(): void {
    if (performance.now() >= this.#retryListeningAt) void this.#listen();
  }

  protected override deliver(message: Message, extra: MessageExtra | undefined): void {
    if (isResponse(message) && message.id !== undefined) {
      const pending = this.#pendingRequests.get(message.id);
      this.#pendingRequests.delete(message.id);
      if (this.#keeper && pending?.method === Method.Initialize && 'result' in message) this.#opened = message.result;
      pending?.stream.end();
    }
    super.deliver(message, extra);
  }

  /** Stops waiting for the response to a cancelled request. */
  #abandon(id: RequestId, pending: PendingRequest): void {
    if (this.#pendingRequests.get(id) !== pending) return;
    this.#pendingRequests.delete(id);
    pending.stream.stop(new AnswerLost(quoting`${pending.method} was cancelled`));
  }

  protected translateError(error: unknown): unknown {
    if (!(error instanceof HttpStatusError)) return error;
    if (this.#sessionId !== undefined && isSessionGone(error)) {
      this.endSession();
      return new SessionGone(true);
    }
    if (!error.response || REFUSALS.has(error.status)) return error;
    const { code, message, data } = error.response.error;
    return new RpcError(code, message, { data, cause: error });
  }

  protected stop(reason: Error): void {
    this.#pendingRequests.clear();
    for (const stream of this.#streams.values()) stream.stop(reason);
  }

  /** Ends the session on the server too (2025-11-25, transports: Session Management, 5). */
  async #deleteSession(id: string): Promise<void> {
    const cancellation = new Lifetime();
    const timer = setTimeout(() => cancellation.abort(new AnswerLost('The server does not respond')), END_TIMEOUT);
    const headers = this.headers({ 'mcp-session-id': id });
    try {
      const reply = await this.endpoint.send({
        method: 'DELETE',
        url: this.url,
        headers,
        cancellation,
        once: true,
      });
      reply.discard();
    } catch {
      // The server may refuse this (405) or be unreachable. Then it ends the session itself after a while.
    } finally {
      clearTimeout(timer);
    }
  }
}
