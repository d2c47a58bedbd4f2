import { RpcError } from '../../../jsonrpc/errors.ts';
import {
  errorResponse,
  isResponse,
  type Message,
  type Notification,
  type Request,
  type RequestId,
} from '../../../jsonrpc/message.ts';
import { IdTable } from '../../../jsonrpc/id-table.ts';
import { CONNECTION_CLOSED } from '../../../jsonrpc/pending.ts';
import { isTemporary } from '../../../jsonrpc/error-chain.ts';
import type { MessageExtra } from '../../transport.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { isType, notJson, REFUSALS } from './endpoint.ts';
import { AnswerLost, HttpStatusError, saysGone, SessionGone, shown, statusError } from './errors.ts';
import type { HttpReply } from './http.ts';
import { END_TIMEOUT, PostingClient, type PostingClientOptions } from './posting-client.ts';
import type { ReconnectionOptions } from './reconnection.ts';
import { ServerStream } from './server-stream.ts';

export interface StreamableClientOptions extends PostingClientOptions {
  /** When a stream that broke off is given up. */
  readonly reconnection?: ReconnectionOptions | undefined;
}

const ACCEPT = 'application/json, text/event-stream';
/** How long after it was given up the stream of the session is tried again, by the next message. Milliseconds. */
const LISTEN_AGAIN_AFTER = 60_000;
/** 2025-11-25, transports: Session Management, 1: visible ASCII. The length is ours. */
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

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
export class StreamableClient extends PostingClient {
  readonly #reconnection: ReconnectionOptions;
  #sessionId: string | undefined;
  readonly #asked = new IdTable<RequestId, Asked>();
  /** All streams that are open, or to be opened again, by numbers of their own. */
  readonly #streams = new IdTable<number, ServerStream>();
  #lastStream = 0;
  /** The stream of the session. */
  #listener: ServerStream | undefined;
  /** Whether the server has had such a stream. */
  #listened = false;
  /** When a stream of the session that was given up may be tried again. */
  #listenAgainAt = Infinity;

  constructor(url: URL, options: StreamableClientOptions = {}) {
    super(url, options);
    this.#reconnection = options.reconnection ?? {};
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
    const open = this.phase === 'open';
    this.finish();
    if (open && this.#sessionId !== undefined) await this.#deleteSession(this.#sessionId);
  }

  protected override initialized(): void {
    void this.#listen();
  }

  protected override async tell(body: string, attempts?: number): Promise<void> {
    await super.tell(body, attempts);
    this.#listenAgain();
  }

  protected override async cancel({ params }: Notification, body: string): Promise<void> {
    const id = params?.['requestId'] as RequestId;
    const asked = this.#asked.get(id);
    try {
      await this.tell(body);
    } finally {
      if (asked) this.#stopWaiting(id, asked);
    }
  }

  protected override async ask({ id, method }: Request, body: string): Promise<void> {
    if (this.#asked.has(id)) throw new Error(`id ${JSON.stringify(id)} is still in use`);
    const stream = this.#stream(id);
    const asked: Asked = { method, stream, cancelled: false };
    this.#asked.set(id, asked);
    let follows = false;
    try {
      const reply = await this.post(body, stream.cancellation);
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
      if (!asked.cancelled) throw this.judged(error);
    } finally {
      if (!follows) this.#streams.delete(stream.number);
    }
  }

  async #readAnswer(id: RequestId, reply: HttpReply): Promise<void> {
    if (!isType(reply, 'application/json')) throw notJson(reply, this.url);
    const text = await reply.text(this.maxMessageBytes);
    if (this.phase === 'closed') return;
    this.incoming.take(text, id);
    if (this.#asked.has(id)) {
      throw new AnswerLost(`${shown(this.url)} answered with what is no response to the request`);
    }
  }

  /** Reads the stream of a request until it is answered, over as many connections as that takes. */
  async #follow(id: RequestId, asked: Asked, reply: HttpReply): Promise<void> {
    try {
      await asked.stream.follow(reply);
    } catch (error) {
      if (this.#asked.get(id) !== asked) return;
      this.judged(error);
      const message = `The answer to ${asked.method} was lost: ${(error as Error).message}`;
      const cause = new AnswerLost(message, { cause: error });
      this.deliver(errorResponse(id, { code: CONNECTION_CLOSED, message }), { cause });
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
      onmessage: (data) => this.incoming.take(data, asked),
      caughtUp: () => this.answers.caughtUp(),
      always: asked === undefined,
      idleTimeout: this.idleTimeout,
      maxEventLength: this.maxMessageBytes,
      reconnection: this.#reconnection,
    });
    this.#streams.set(stream.number, stream);
    return stream;
  }

  async #get(lastEventId: string | undefined, cancellation: Lifetime): Promise<HttpReply> {
    const headers = this.headers({ accept: 'text/event-stream' });
    // In UTF-8 (HTML standard, section 9.2.4), whose bytes headers take as characters.
    if (lastEventId !== undefined) headers['last-event-id'] = Buffer.from(lastEventId).toString('latin1');
    const reply = await this.endpoint.send({ method: 'GET', url: this.url, headers, cancellation });
    if (isType(reply, 'text/event-stream')) return reply;
    reply.discard();
    throw statusError(reply, 'GET', this.url, 'without an event stream');
  }

  protected override headers(headers: Record<string, string>): Record<string, string> {
    if (this.#sessionId !== undefined) headers['mcp-session-id'] = this.#sessionId;
    return super.headers({ accept: ACCEPT, ...headers });
  }

  #keepSession(reply: HttpReply): void {
    const id = reply.header('mcp-session-id');
    if (id === undefined) return;
    if (!SESSION_ID.test(id)) throw new AnswerLost('The server gave a session id that no header can carry');
    this.#sessionId = id;
  }

  /** Opens the stream of the session (2025-11-25, transports: Listening for Messages from the Server). */
  async #listen(): Promise<void> {
    if (this.#listener || this.phase !== 'open') return;
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
      if (status === 405 && this.#listened) return this.gone();
      if (status === 405 || (status === 404 && !this.#listened) || (status !== undefined && status < 300)) return;
      if (this.judged(error) instanceof SessionGone) return;
      this.report(new Error(`The server's stream cannot be opened: ${(error as Error).message}`, { cause: error }));
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

  protected override deliver(message: Message, extra: MessageExtra | undefined): void {
    if (isResponse(message) && message.id !== undefined) {
      const asked = this.#asked.get(message.id);
      this.#asked.delete(message.id);
      asked?.stream.end();
    }
    super.deliver(message, extra);
  }

  /** Nobody waits for the answer any more. */
  #stopWaiting(id: RequestId, asked: Asked): void {
    if (this.#asked.get(id) !== asked) return;
    asked.cancelled = true;
    this.#asked.delete(id);
    asked.stream.stop(new AnswerLost(`${asked.method} was cancelled`));
  }

  protected judged(error: unknown): unknown {
    if (!(error instanceof HttpStatusError)) return error;
    if (this.#sessionId !== undefined && saysGone(error)) {
      this.gone();
      return new SessionGone(true);
    }
    if (!error.response || REFUSALS.has(error.status)) return error;
    const { code, message, data } = error.response.error;
    return new RpcError(code, message, { data, cause: error });
  }

  protected stop(reason: Error): void {
    this.#asked.clear();
    for (const stream of this.#streams.values()) stream.stop(reason);
  }

  /** Ends the session at the server too (2025-11-25, transports: Session Management, 5). */
  async #deleteSession(id: string): Promise<void> {
    const cancellation = new Lifetime();
    const timer = setTimeout(() => cancellation.abort(new AnswerLost('The server does not answer')), END_TIMEOUT);
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
      // The server may refuse it (405), or be gone; the session then ends when its time is over.
    } finally {
      clearTimeout(timer);
    }
  }
}
