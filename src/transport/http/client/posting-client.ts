import type { Holder } from '../../../base/buffer-budget.ts';
import { Deadline } from '../../../base/deadline.ts';
import { sendBudget, sendBudgetExceeded } from '../../../base/send-budget.ts';
import {
  isNotification,
  isRequest,
  isResponse,
  type Message,
  type Notification,
  type Request,
} from '../../../jsonrpc/message.ts';
import { stringify } from '../../../jsonrpc/stringify.ts';
import { profileOf } from '../../../protocol/revisions.ts';
import type { MessageExtra, Transport } from '../../transport.ts';
import { AnswersInFlight } from './answers-in-flight.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Endpoint, IDLE_TIMEOUT, MAX_MESSAGE_BYTES, type HttpClientOptions } from './endpoint.ts';
import { AnswerLost, SessionGone } from './errors.ts';
import type { HttpReply } from './http.ts';
import { Incoming } from './incoming.ts';

export interface PostingClientOptions extends HttpClientOptions {
  /** How much may wait to be taken by the server, in UTF-16 code units; beyond it `send` rejects. Default 64 Mi. */
  readonly maxPending?: number | undefined;
  /** How long a server may take to accept a message. Milliseconds, default 30 000; 0 for ever. */
  readonly acceptTimeout?: number | undefined;
}

const MAX_PENDING = 64 * 1024 * 1024;
const ACCEPT_TIMEOUT = 30_000;
/** How long a session that ends waits for messages in flight to be accepted or refused. Milliseconds. */
export const END_TIMEOUT = 1000;

/** What the client's ends of Streamable HTTP and of HTTP+SSE have in common: each message is a POST. */
export abstract class PostingClient implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  protected readonly url: URL;
  /** Where messages go. May be a secret that names the session. */
  protected target: URL;
  protected readonly endpoint: Endpoint;
  protected readonly maxMessageBytes: number;
  protected readonly idleTimeout: number;
  protected readonly incoming: Incoming;
  protected readonly answers = new AnswersInFlight();
  /** `ending`: the session has ended, and messages in flight are not accepted or refused yet. */
  protected phase: 'new' | 'opening' | 'open' | 'ending' | 'closed' = 'new';
  readonly #maxPending: number;
  readonly #acceptTimeout: number;
  #reason: Error | undefined;
  #version: string | undefined;
  /** The length of the messages that are neither taken nor refused yet. */
  #pending = 0;
  /** What the messages without an answer count in the budget of the process. */
  readonly #unanswered: Holder = {
    held: 0,
    cutOff: () => {
      const error = sendBudgetExceeded();
      this.report(error);
      this.finish(error);
    },
  };
  #unansweredLength = 0;
  /** Those of these messages that have no answer. */
  readonly #telling = new Set<Lifetime>();
  /** Resolves when `notifications/initialized` was taken or refused: nothing may overtake it. */
  #initialized: Promise<void> | undefined;
  /** The last of the notifications, which are sent one after the other. */
  #lastNotification: Promise<void> = Promise.resolve();
  #endTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(url: URL, options: PostingClientOptions) {
    this.url = this.target = url;
    this.endpoint = new Endpoint(options);
    this.maxMessageBytes = options.maxMessageBytes ?? MAX_MESSAGE_BYTES;
    this.idleTimeout = options.idleTimeout ?? IDLE_TIMEOUT;
    this.#maxPending = options.maxPending ?? MAX_PENDING;
    this.#acceptTimeout = options.acceptTimeout ?? ACCEPT_TIMEOUT;
    this.incoming = new Incoming({
      deliver: (message, extra) => this.deliver(message, extra),
      report: (error) => this.report(error),
      answer: (response) => void this.send(response).catch((error: Error) => this.report(error)),
    });
  }

  /** Why the transport closed, if it was not closed by `close`. */
  get closeReason(): Error | undefined {
    return this.#reason;
  }

  abstract start(): Promise<void>;
  abstract close(): Promise<void>;

  setProtocolVersion(version: string): void {
    const profile = profileOf(version);
    this.incoming.profile = profile;
    this.#version = profile && !profile.versionHeader ? undefined : version;
  }

  async send(message: Message): Promise<void> {
    this.#checkOpen();
    const body = stringify(message);
    this.incoming.sending(message);
    if (this.#pending + body.length > this.#maxPending) {
      throw new Error(`More than ${this.#maxPending} characters wait for the server to accept them`);
    }
    this.#pending += body.length;
    // Requests count at whoever waits for their answer.
    const unanswered = isRequest(message) ? 0 : body.length;
    this.#countUnanswered(unanswered);
    try {
      await this.#dispatch(message, body);
    } finally {
      this.#pending -= body.length;
      this.#countUnanswered(-unanswered);
      if (this.phase === 'ending') this.#finishWhenSent();
    }
  }

  /** What an error of the endpoint means here; where it means the end of the session, that has begun. */
  protected abstract judged(error: unknown): unknown;
  /** Aborts what belongs to the connection. */
  protected abstract stop(reason: Error): void;

  /** The server has taken `notifications/initialized`. */
  protected initialized(): void {}

  protected ask(_request: Request, body: string): Promise<void> {
    // Sent once only: the server may have run it although the connection was lost.
    return this.tell(body, 1);
  }

  protected cancel(_notification: Notification, body: string): Promise<void> {
    return this.tell(body);
  }

  /**
   * Sends a message for which the server returns 202 (2025-11-25, transports: Sending Messages, 4). If the connection is
   * lost before that, a response or a notification is sent again: a second one does no harm, while a server that never
   * gets a response waits for it until its limit.
   */
  protected async tell(body: string, attempts = 2): Promise<void> {
    const limit = this.#acceptTimeout;
    const cancellation = new Lifetime();
    this.#telling.add(cancellation);
    const late = (): void =>
      cancellation.abort(new AnswerLost(`The server did not accept a message within ${limit} ms`));
    const deadline = new Deadline({ timeout: limit }, late, this.endpoint.loginActiveUntil);
    try {
      const post = (): Promise<HttpReply> => this.post(body, cancellation);
      const again = (error: unknown): Promise<HttpReply> => {
        if (attempts === 1 || cancellation.ended || !(error instanceof AnswerLost)) throw error;
        return post();
      };
      const reply = await post().catch(again);
      reply.discard();
    } catch (error) {
      throw this.judged(error);
    } finally {
      deadline.clear();
      this.#telling.delete(cancellation);
    }
  }

  protected post(body: string, cancellation: Lifetime): Promise<HttpReply> {
    // The session may have ended while the message waited.
    this.#checkOpen();
    const headers = this.headers({ 'content-type': 'application/json' });
    return this.endpoint.send({ method: 'POST', url: this.target, headers, body, cancellation });
  }

  /** Adds the headers of all requests. */
  protected headers(headers: Record<string, string>): Record<string, string> {
    if (this.#version !== undefined) headers['mcp-protocol-version'] = this.#version;
    return headers;
  }

  protected deliver(message: Message, extra: MessageExtra | undefined): void {
    if (this.phase === 'closed') return;
    try {
      this.onmessage?.(message, extra);
    } catch (error) {
      this.report(error as Error);
    }
  }

  /** The session is gone. What is being sent is told so by the server itself, if it is quick about it. */
  protected gone(): void {
    if (this.phase !== 'open') return;
    this.phase = 'ending';
    this.#reason = new SessionGone(false);
    this.#endTimer = setTimeout(() => this.finish(), END_TIMEOUT);
    this.#finishWhenSent();
  }

  /** Closes the connection. */
  protected finish(reason?: Error): void {
    if (this.phase === 'closed') return;
    this.phase = 'closed';
    clearTimeout(this.#endTimer);
    this.#reason ??= reason;
    const why = this.#reason ?? new AnswerLost('The connection was closed');
    this.stop(why);
    for (const cancellation of this.#telling) cancellation.abort(why);
    sendBudget.hold(this.#unanswered, 0);
    try {
      this.onclose?.();
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  protected report(error: Error): void {
    if (this.phase !== 'closed') this.onerror?.(error);
  }

  /** Whoever sent a message hears of its end before that of the connection. */
  #finishWhenSent(): void {
    if (this.#pending === 0) setImmediate(() => this.finish());
  }

  #countUnanswered(length: number): void {
    if (length === 0) return;
    this.#unansweredLength += length;
    sendBudget.hold(this.#unanswered, this.phase === 'closed' ? 0 : this.#unansweredLength);
  }

  #checkOpen(): void {
    if (this.phase === 'open') return;
    if (this.#reason instanceof SessionGone) throw new SessionGone(true);
    const opened = this.phase === 'ending' || this.phase === 'closed';
    throw this.#reason ?? new Error(opened ? 'The connection is closed' : 'The transport is not started');
  }

  #dispatch(message: Message, body: string): Promise<void> {
    if (isNotification(message) && message.method === 'notifications/initialized') {
      const taken = this.tell(body);
      // Those that wait for it go on whatever has become of it; who sent it hears of that.
      this.#initialized = taken.then(
        () => this.initialized(),
        () => {},
      );
      return taken;
    }
    return this.#initialized
      ? this.#initialized.then(() => this.#sendNow(message, body))
      : this.#sendNow(message, body);
  }

  /**
   * Notifications go one after the other, a few answers at a time; cancellations and requests wait for nothing that is
   * slow.
   */
  #sendNow(message: Message, body: string): Promise<void> {
    if (isRequest(message)) return this.ask(message, body);
    if (isResponse(message)) return this.answers.send(() => this.tell(body));
    if (message.method === 'notifications/cancelled') return this.cancel(message, body);
    const taken = this.#lastNotification.then(() => this.tell(body));
    this.#lastNotification = taken.catch(() => {});
    return taken;
  }
}
