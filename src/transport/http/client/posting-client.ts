import type { Holder } from '../../../base/buffer-budget.ts';
import { Deadline } from '../../../base/deadline.ts';
import { inNextTurn } from '../../../base/next-turn.ts';
import { sendBudget, sendBudgetExceeded } from '../../../base/send-budget.ts';
import { textMemory } from '../../../base/text-memory.ts';
import {
  isNotification,
  isRequest,
  isResponse,
  type Message,
  type Notification,
  type Request,
} from '../../../jsonrpc/message.ts';
import { stringify } from '../../../jsonrpc/stringify.ts';
import { NotificationMethod } from '../../../protocol/methods.ts';
import { profileOf } from '../../../protocol/revisions.ts';
import { BaseTransport } from '../../base-transport.ts';
import type { MessageExtra, Transport } from '../../transport.ts';
import { AnswersInFlight } from './answers-in-flight.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Endpoint, IDLE_TIMEOUT, MAX_MESSAGE_BYTES, type HttpClientOptions } from './endpoint.ts';
import { AnswerLost, SessionGone } from './errors.ts';
import type { HttpReply } from './http.ts';
import { Incoming } from './incoming.ts';

export interface PostingClientOptions extends HttpClientOptions {
  /**
   * The most text that may wait for the server to accept it, in UTF-16 code units. Above it `send` rejects. Default 64
   * Mi.
   */
  readonly maxPending?: number | undefined;
  /** How long a server may take to accept a message. Milliseconds, default 30 000; 0 for no limit. */
  readonly acceptTimeout?: number | undefined;
}

const MAX_PENDING = 64 * 1024 * 1024;
const ACCEPT_TIMEOUT = 30_000;
/** How long a session that ends waits until messages in flight are accepted or refused. Milliseconds. */
export const END_TIMEOUT = 1000;

/** The common part of the clients for Streamable HTTP and HTTP+SSE: each message is a POST. */
export abstract class PostingClient extends BaseTransport implements Transport {
  protected readonly url: URL;
  /** The URL to post messages to. It may contain a secret session id. */
  protected target: URL;
  protected readonly endpoint: Endpoint;
  protected readonly maxMessageBytes: number;
  protected readonly idleTimeout: number;
  protected readonly incoming: Incoming;
  protected readonly answers = new AnswersInFlight();
  /** `ending`: the session has ended, but some messages in flight are not yet accepted or refused. */
  protected phase: 'new' | 'opening' | 'open' | 'ending' | 'closed' = 'new';
  readonly #maxPending: number;
  readonly #acceptTimeout: number;
  #reason: Error | undefined;
  #version: string | undefined;
  /** The total length of the messages that are not yet accepted or refused. */
  #pending = 0;
  /** What notifications and responses count in the send budget of the process. */
  readonly #unanswered: Holder = {
    held: 0,
    cutOff: () => {
      const error = sendBudgetExceeded();
      this.report(error);
      this.finish(error);
    },
  };
  #unansweredLength = 0;
  /** The POSTs of notifications and responses that are in progress. */
  readonly #oneWayPosts = new Set<Lifetime>();
  /** Resolves when `notifications/initialized` was accepted or refused. All other messages wait for this. */
  #initialized: Promise<void> | undefined;
  /** The requests that wait for it. */
  readonly #unsent = new Set<unknown>();
  /** The POST of the newest notification. Notifications are sent one after the other. */
  #lastNotification: Promise<void> = Promise.resolve();
  #endTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(url: URL, options: PostingClientOptions) {
    super();
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

  /** Why the transport closed. Undefined if `close` closed it. */
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
    // A request is counted by the code that waits for its answer.
    const unanswered = isRequest(message) ? 0 : textMemory(body);
    this.#countUnanswered(unanswered);
    try {
      await this.#dispatch(message, body);
    } finally {
      this.#pending -= body.length;
      this.#countUnanswered(-unanswered);
      if (this.phase === 'ending') this.#finishWhenSent();
    }
  }

  /**
   * Translates an error of the endpoint for the caller of `send`. If it means that the session has ended, this begins
   * to close the transport.
   */
  protected abstract translateError(error: unknown): unknown;
  /** Aborts everything that belongs to the connection. */
  protected abstract stop(reason: Error): void;

  /** Called when the server has accepted `notifications/initialized`. */
  protected initialized(): void {}

  protected postRequest(_request: Request, body: string): Promise<void> {
    // Sent only once: if the connection is lost, the server may have run the request.
    return this.postOneWay(body, 1);
  }

  protected postCancellation(_notification: Notification, body: string): Promise<void> {
    return this.postOneWay(body);
  }

  /**
   * Posts a message for which the server returns 202 (2025-11-25, transports: Sending Messages, 4). If the connection is
   * lost before that, a response or notification is sent again. A duplicate does no harm, but a server that never gets a
   * response waits until its time limit.
   */
  protected async postOneWay(body: string, attempts = 2): Promise<void> {
    const limit = this.#acceptTimeout;
    const cancellation = new Lifetime();
    this.#oneWayPosts.add(cancellation);
    const onTimeout = (): void =>
      cancellation.abort(new AnswerLost(`The server did not accept a message within ${limit} ms`));
    const deadline = new Deadline({ timeout: limit }, onTimeout, this.endpoint.loginActiveUntil);
    try {
      const post = (): Promise<HttpReply> => this.post(body, cancellation);
      const retry = (error: unknown): Promise<HttpReply> => {
        if (attempts === 1 || cancellation.ended || !(error instanceof AnswerLost)) throw error;
        return post();
      };
      const reply = await post().catch(retry);
      reply.discard();
    } catch (error) {
      throw this.translateError(error);
    } finally {
      deadline.clear();
      this.#oneWayPosts.delete(cancellation);
    }
  }

  /** @param isOver whether the message need not be sent again. */
  protected post(body: string, cancellation: Lifetime, isOver?: () => boolean): Promise<HttpReply> {
    // The session may have ended while the message waited.
    this.#checkOpen();
    const headers = this.headers({ 'content-type': 'application/json' });
    return this.endpoint.send({ method: 'POST', url: this.target, headers, body, cancellation, isOver });
  }

  /** Adds the headers of all requests. */
  protected headers(headers: Record<string, string>): Record<string, string> {
    if (this.#version !== undefined) headers['mcp-protocol-version'] = this.#version;
    return headers;
  }

  protected deliver(message: Message, extra: MessageExtra | undefined): void {
    if (this.phase !== 'closed') this.callOnmessage(message, extra);
  }

  /**
   * The server no longer knows the session. Messages in flight get a short time (`END_TIMEOUT`) for the server's own
   * answer.
   */
  protected endSession(): void {
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
    const closeReason = this.#reason ?? new AnswerLost('The connection was closed');
    this.stop(closeReason);
    for (const cancellation of this.#oneWayPosts) cancellation.abort(closeReason);
    sendBudget.hold(this.#unanswered, 0);
    this.guard(() => this.onclose?.());
  }

  protected override report(error: Error): void {
    if (this.phase !== 'closed') super.report(error);
  }

  /** Closes once the last `send` has settled, so that its caller gets the result before `onclose` fires. */
  #finishWhenSent(): void {
    if (this.#pending === 0) inNextTurn(() => this.finish());
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
      const accepted = this.postOneWay(body);
      // The other messages wait until this one is settled, even if it failed. Only its own sender gets the error.
      this.#initialized = accepted.then(
        () => this.initialized(),
        () => {},
      );
      return accepted;
    }
    return this.#initialized ? this.#sendAfter(this.#initialized, message, body) : this.#sendNow(message, body);
  }

  /** A request that is cancelled while it waits is not sent, and neither is its cancellation. */
  async #sendAfter(initialized: Promise<void>, message: Message, body: string): Promise<void> {
    if (isCancellation(message) && this.#unsent.delete(message.params?.['requestId'])) return;
    if (!isRequest(message)) return initialized.then(() => this.#sendNow(message, body));
    this.#unsent.add(message.id);
    await initialized;
    if (this.#unsent.delete(message.id)) await this.#sendNow(message, body);
  }

  /**
   * Notifications are sent one after the other, and a limited number of answers at a time. Requests and cancellations
   * never wait for slow messages.
   */
  #sendNow(message: Message, body: string): Promise<void> {
    if (isRequest(message)) return this.postRequest(message, body);
    if (isResponse(message)) return this.answers.send(() => this.postOneWay(body));
    if (isCancellation(message)) return this.postCancellation(message, body);
    const accepted = this.#lastNotification.then(() => this.postOneWay(body));
    this.#lastNotification = accepted.catch(() => {});
    return accepted;
  }
}

function isCancellation(message: Message): message is Notification {
  return isNotification(message) && message.method === NotificationMethod.Cancelled;
}
