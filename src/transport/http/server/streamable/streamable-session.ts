import { Recent } from '../../../../base/recent.ts';
import { shareOf } from '../../../../base/share.ts';
import { shortJson } from '../../../../base/short-text.ts';
import type { OpenedBatch } from '../../../../jsonrpc/batch.ts';
import { IdTable } from '../../../../jsonrpc/id-table.ts';
import {
  isRequest,
  isResponse,
  notification,
  type Message,
  type Request,
  type RequestId,
  type Response,
} from '../../../../jsonrpc/message.ts';
import { Method, NotificationMethod } from '../../../../protocol/methods.ts';
import { profileOf, type RevisionProfile } from '../../../../protocol/revisions.ts';
import type { SessionId, StreamId } from '../../../../store/event-log.ts';
import type { OwnStreamPlace, SessionSettings } from '../../../../store/session-store.ts';
import { BaseTransport } from '../../../base-transport.ts';
import { SENT_AT_ONCE, type MessageExtra, type SendOptions, type Transport } from '../../../transport.ts';
import type { HttpCall } from '../call.ts';
import { cancellationOf, EarlyCancellations } from '../early-cancellations.ts';
import type { EndpointOptions } from '../endpoint.ts';
import type { EventStream } from './event-stream.ts';
import type { Follower } from './following.ts';
import { listChangesOf } from './list-changes.ts';
import type { Opening, Revival } from './opening.ts';
import type { LeftStream } from './other-processes.ts';
import type { OwnStreamParts } from './own-stream.ts';
import { QuestionIds } from './question-ids.ts';
import { SessionExtra } from './session-extra.ts';
import { OWN_NAMES, SessionStreams, type StreamNames, type StreamsOwner } from './session-streams.ts';
import { JSON_HEADERS } from '../access/refusal-format.ts';
import { closedHere, NOT_CONTINUED, refuse, sessionNotFound, shuttingDown } from '../access/refusals.ts';
import { endReplies, Reply, type ReplyOwner } from './reply.ts';
import { Replays } from './replays.ts';
import { changesTo, type Setting } from './session-settings.ts';
import { storedIdOf, StoredSession, type Tell } from './stored-session.ts';
import { newStreamPrefix, STANDALONE } from './stream-ids.ts';

/** How many of its own questions a session remembers. Answers to others are meant for another process. */
const MAX_ASKED = 1000;
const ENDED = 'The session has ended';

/**
 * The server's side of one Streamable HTTP session: many HTTP requests behind one transport (2025-11-25, transports:
 * Streamable HTTP).
 */
export class StreamableSession extends BaseTransport implements Transport, ReplyOwner, StreamsOwner {
  readonly sessionId: string;
  /** Undefined until the response to `initialize` has been sent. */
  profile: RevisionProfile | undefined;
  /** Who opened the session. */
  readonly principal: string | undefined;
  readonly share: string;
  /** When the client's last message came, by `performance.now()`. */
  lastSeen = performance.now();

  /** Whether another process opened the session. If several use the store, it may be alive and use it too. */
  readonly revived: boolean;
  /** Resolves when the session is revived, or cannot be. Undefined if it was opened here, or is open. */
  revival: Promise<Revival> | undefined;
  #endRevival: ((succeeded: boolean) => void) | undefined;
  readonly #streamNames: StreamNames = OWN_NAMES;
  /** The questions asked here. Undefined if no other process can have asked any. */
  readonly #asked: Recent | undefined;
  readonly #questions: QuestionIds | undefined;
  readonly #stored: StoredSession | undefined;
  /** Whether the session comes from the store. */
  readonly #isStored: boolean;
  readonly #replays = new Replays();
  readonly #options: EndpointOptions;
  readonly #replies = new IdTable<RequestId, Reply>();
  readonly #early = new EarlyCancellations();
  /** Undefined while there is none, because most sessions have none. */
  #streams: SessionStreams | undefined;
  /** Where other processes have stored that the session's own stream is. */
  readonly #ownStream: OwnStreamPlace | undefined;
  /** How the server says that its lists have changed, if it does. */
  #lists: readonly string[] = [];
  #initializing: RequestId | undefined;
  /** Whether the session must be in the store before its client knows it. */
  #storesOpening: boolean;
  readonly #storing = new Set<Promise<void>>();
  /** The call that opens the session. Set until the session is served: before, the client does not know it. */
  #opening: Opening | undefined;
  /** Whether `notifications/initialized` may reach another process, which then goes on with the session. */
  #awaitsInitialized: boolean;
  #closed = false;
  /** Whether another process may continue the session after it was closed here. */
  #kept = false;

  constructor(opening: Opening, options: EndpointOptions) {
    super();
    this.sessionId = opening.id;
    this.principal = opening.call.principal;
    this.share = shareOf(opening.call);
    this.revived = opening.revived;
    this.#ownStream = opening.record?.own;
    this.#isStored = opening.record !== undefined;
    this.#opening = opening;
    this.#options = options;
    if (options.store) this.#stored = new StoredSession(options.store, storedIdOf(opening.id), opening.record);
    const { shared } = options;
    this.#storesOpening = shared !== undefined && !opening.revived;
    this.#awaitsInitialized = this.#storesOpening;
    if (opening.revived || shared) {
      this.#asked = new Recent(MAX_ASKED);
      const prefix = newStreamPrefix(shared);
      if (shared) this.#questions = new QuestionIds(prefix);
      this.#streamNames = { prefix, standalone: opening.record || shared ? STANDALONE : prefix + STANDALONE };
    }
    if (!opening.revived) return;
    const opened = new Promise<boolean>((resolve) => {
      this.#endRevival = (succeeded) => {
        this.#endRevival = undefined;
        if (succeeded) this.#goOn(opening);
        resolve(succeeded);
      };
    });
    this.revival = this.#revive(opened, opening.record !== undefined);
  }

  async #revive(opened: Promise<boolean>, hasStreams: boolean): Promise<Revival> {
    let hasFailed = false;
    try {
      if (hasStreams) await this.#stored?.endLostStreams(this.#options.log, this.#options.shared);
    } catch (error) {
      this.report(error as Error);
      hasFailed = true;
      await this.#end(503, NOT_CONTINUED, true);
    }
    const succeeded = await opened;
    this.revival = undefined;
    return hasFailed ? 'failed' : succeeded ? 'open' : 'gone';
  }

  /** The id of the session in the event log and in the store. */
  get storedId(): SessionId {
    return this.#stored?.id ?? this.sessionId;
  }

  get endedEverywhere(): boolean {
    return this.#closed && !this.#kept;
  }

  get sharedId(): SessionId | undefined {
    return this.#options.shared ? this.storedId : undefined;
  }

  /** Tells the server what the client has told other processes. */
  #goOn({ call, record }: Opening): void {
    this.deliver(notification(NotificationMethod.Initialized), call);
    if (record) this.#replay(changesTo(record), new SessionExtra(this, call, 1, undefined), true);
  }

  replay(changes: readonly Setting[], extra: MessageExtra): void {
    this.#stored?.changedElsewhere(changes);
    this.#replay(changes, extra, false);
  }

  /** @param late whether the client may have missed updates since. */
  #replay(changes: readonly Setting[], extra: MessageExtra, late: boolean): void {
    for (const request of this.#replays.begin(changes, late)) this.receive(request, extra);
  }

  get grace(): number {
    return this.#options.grace;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get streams(): SessionStreams {
    return (this.#streams ??= new SessionStreams(this, this.#options, this.#streamNames, this.#ownStreamParts()));
  }

  /** Whether the client reads any stream of the session. */
  get connected(): boolean {
    return this.#streams?.connected ?? false;
  }

  get listensOutsideRequests(): boolean {
    return this.#streams?.ownIsRead ?? false;
  }

  start(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    if (opening) this.#initialize(opening);
    return Promise.resolve();
  }

  send(given: Message, options?: SendOptions): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('The session is closed'));
    try {
      const message = this.#questions ? this.#questions.outward(given) : given;
      if (!isResponse(message)) {
        if (isRequest(message)) this.#asked?.add(message.id);
        const related = options?.relatedRequestId;
        const reply = this.#replies.get(related);
        return reply ? reply.send(message) : this.streams.send(message);
      }
      if (message.id === this.#initializing && this.#storesOpening && 'result' in message)
        return this.#beforeClose(this.#storeOpening(message));
      const change = this.#stored?.changeBy(message.id!);
      if (change) return this.#beforeClose(this.#storeFirst(change, message));
      const reply = this.#replies.get(message.id);
      if (!reply && message.id !== undefined && message.id === this.#initializing) {
        this.#initialized(message);
        return SENT_AT_ONCE;
      }
      if (!reply && this.#replays.has(message.id)) return this.#wasReplayed(message);
      if (!reply) return Promise.reject(new Error(`No request waits for a response with id ${shortJson(message.id)}`));
      // A failed `initialize` opens no session, so its response has no session id.
      if (message.id === this.#initializing && 'error' in message) reply.headers = JSON_HEADERS;
      if (options?.status !== undefined) this.#options.others?.refused(this, message.id!);
      const sent = reply.send(message, options?.status);
      this.#replies.delete(message.id);
      if (message.id === this.#initializing) this.#initialized(message);
      return sent;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** A response that waits for the store is also sent if the process is stopped meanwhile. */
  #beforeClose(sending: Promise<void>): Promise<void> {
    this.#storing.add(sending);
    return sending.finally(() => this.#storing.delete(sending));
  }

  /** The next request may reach another process. */
  async #storeOpening(response: Response): Promise<void> {
    this.#storesOpening = false;
    await this.#stored?.opened().catch((error: Error) => this.report(error));
    await this.send(response);
  }

  /** What a request has changed is stored, and other processes know it, before its response is sent. */
  async #storeFirst(change: Setting, response: Response): Promise<void> {
    const tell: Tell = (changes) => this.#options.others?.change(this, changes);
    await this.send(await this.#stored!.store(change, response, tell, (error) => this.report(error)));
  }

  /** The client has not asked again, so it gets no response. It may have missed updates of a resource. */
  #wasReplayed(response: Response): Promise<void> {
    let uri: unknown;
    try {
      uri = this.#replays.end(response);
    } catch (error) {
      this.report(error as Error);
    }
    // If others use the store, the client misses nothing until nobody passes its own stream on.
    if (uri === undefined || this.#options.shared) return SENT_AT_ONCE;
    return this.streams.send(notification(NotificationMethod.ResourceUpdated, { uri }));
  }

  /** Undefined if no other process uses the store at the same time. */
  #ownStreamParts(): Omit<OwnStreamParts, 'create'> | undefined {
    const { shared, log, others, sharesChanges, retry } = this.#options;
    if (!shared || !this.#stored) return undefined;
    return {
      ...{ session: this, stored: this.#stored, log, others, sharesChanges, retry, node: shared.node },
      opened: !this.revived,
      place: this.#ownStream,
      onlost: (settings) => this.#sayAllChanged(settings),
      onerror: (error) => this.report(error),
    };
  }

  /** Nobody has passed the session's own stream on to the client, so it may have missed changes. */
  #sayAllChanged({ resources = [] }: SessionSettings): void {
    const updates = resources.map((uri) => notification(NotificationMethod.ResourceUpdated, { uri }));
    for (const message of [...this.#lists.map((method) => notification(method)), ...updates])
      this.streams.send(message).catch((error: Error) => this.report(error));
  }

  async releaseOwnStream(): Promise<LeftStream | undefined> {
    return this.streams.own?.release();
  }

  readOwnStream(): boolean {
    return this.streams.own?.readOn() ?? false;
  }

  follow(stream: StreamId, follower: Follower): (() => void) | undefined {
    return this.#streams?.follow(stream, follower);
  }

  /** Ends the session. While the process ends, a stored session is kept for the next one. */
  async close(): Promise<void> {
    if (this.#storing.size > 0) await Promise.allSettled(this.#storing);
    await this.#end(404, ENDED, this.#keeps(this.#options.closed()));
  }

  /** Ends the session for good. */
  end(): Promise<void> {
    return this.#end(404, ENDED);
  }

  /** If several processes use the store, another one may use the session, and this one may continue it. */
  retire(): Promise<void> {
    return this.#end(404, ENDED, this.#keeps(this.#options.shared !== undefined));
  }

  /** Whether the store keeps the session. If a stored session could not go on here, another process may continue it. */
  #keeps(others: boolean): boolean {
    return this.profile === undefined ? this.#isStored : others && this.#stored !== undefined;
  }

  /** Closes a session that the application did not accept. */
  refuse(message: string): Promise<void> {
    return this.#end(500, message, this.#keeps(false));
  }

  /** @param kept whether another process may continue the session. */
  async #end(status: number, message: string, kept = false): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#kept = kept;
    if (this.#endRevival) this.#endRevival(false);
    else if (this.#opening) refuse(this.#opening.call, status, message);
    this.#options.sessions.delete(this.sessionId);
    this.#options.others?.delete(this);
    this.#options.seal?.end(this.sessionId);
    const ended = this.#endReplies(status, message, kept);
    this.guard(() => this.onclose?.());
    await Promise.all([ended, kept ? undefined : this.#stored?.end()]);
  }

  /** Waits until the streams have written everything, then removes them from the log. */
  async #endReplies(status: number, message: string, kept: boolean): Promise<void> {
    const replies = this.#replies.entries();
    this.#replies.clear();
    await endReplies(replies, status, message, kept);
    if (!this.#streams && !this.revived) return;
    await this.#streams?.close();
    if (!kept) await this.#options.log.drop(this.storedId);
  }

  /** Refuses a call that has waited until the session was closed here. Status 404 would say that no process has the session. */
  refuseLate(call: HttpCall): void {
    if (!this.#kept) sessionNotFound(call);
    else if (this.#options.closed()) shuttingDown(call);
    else closedHere(call);
  }

  /** Whether a request in flight has this id. */
  inUse(id: RequestId): boolean {
    return this.#replies.has(id);
  }

  /** Handles a POST with one request. The call is answered with the response. */
  request(call: HttpCall, message: Request): void {
    if (message.method !== Method.Ping) this.checkInitialized(call);
    this.#replies.set(message.id, new Reply(this, call, message.id, undefined));
    this.#stored?.expect(message);
    this.deliver(message, call);
  }

  /** Handles a batch with requests. The call is answered when all of them are. */
  batch(call: HttpCall, { messages, requests, errors }: OpenedBatch): void {
    const reply = new Reply(this, call, requests, errors);
    for (const message of messages) {
      if (isRequest(message)) {
        if (message.method !== Method.Ping) this.checkInitialized(call);
        this.#replies.set(message.id, reply);
        this.#stored?.expect(message);
      }
      this.deliver(message, call, messages.length);
    }
  }

  /** Before the client is initialized, it may only ping (2025-11-25, basic/lifecycle: Initialization). Others may have been told. */
  checkInitialized(call: HttpCall): void {
    if (this.#awaitsInitialized) this.deliver(notification(NotificationMethod.Initialized), call);
  }

  /** Like `request`, for the request that opens the session. Its response carries the id and sets the revision. */
  #initialize({ call, initialize: message, revived }: Opening): void {
    this.#initializing = message.id;
    if (revived) return this.deliver(message, call);
    this.#stored?.begin(call, message.params ?? {}, this.#options.shared?.node);
    const reply = new Reply(this, call, message.id, undefined);
    // The headers are set now, because the stream of a slow response begins before its result is known.
    reply.headers = { ...JSON_HEADERS, 'mcp-session-id': this.sessionId };
    this.#replies.set(message.id, reply);
    this.deliver(message, call);
  }

  /** @param among the number of messages in the body of the call. */
  deliver(message: Message, call: HttpCall, among = 1): void {
    this.receive(message, new SessionExtra(this, call, among, isRequest(message) ? message.id : undefined));
  }

  receive(message: Message, extra: MessageExtra): void {
    if (this.#closed) return;
    if ('method' in message && message.method === NotificationMethod.Initialized) this.#awaitsInitialized = false;
    this.callOnmessage(this.#questions?.inward(message) ?? message, extra);
    // A cancelled request gets no response (basic/utilities/cancellation: Behavior Requirements).
    if ('method' in message && message.method === 'notifications/cancelled')
      this.#abandon(message.params?.['requestId']);
    else if (isRequest(message) && this.#early.take(message.id)) this.receive(cancellationOf(message.id), extra);
  }

  endIfLost(stream: StreamId): Promise<boolean> {
    const { log, shared } = this.#options;
    return this.#stored?.endIfLost(log, shared, stream) ?? Promise.resolve(true);
  }

  /** Whether a question with this id may have been asked here, and not by another process. */
  mayHaveAsked(id: RequestId | undefined): boolean {
    return this.#asked?.has(id) ?? true;
  }

  /**
   * Ends the connection of a stream, so that the client reconnects (2025-11-25, transports: Sending Messages, 6). Only
   * for revisions with a priming event: other clients would not reconnect.
   *
   * @param id the request that the stream belongs to. Default: the session's own stream.
   */
  pauseStream(id?: RequestId): void {
    if (id === undefined) this.#streams?.pause();
    else this.#replies.get(id)?.pause(this.#options.retry);
  }

  #initialized(response: Response): void {
    this.#initializing = undefined;
    if ('result' in response) {
      this.profile = profileOf(response.result['protocolVersion']);
      this.#lists = listChangesOf(response.result);
      this.#endRevival?.(true);
      this.#stored?.opened().catch((error: Error) => this.report(error));
    } else setImmediate(() => void this.close().catch((error: Error) => this.report(error)));
  }

  #abandon(id: RequestId): void {
    const reply = this.#replies.get(id);
    if (!reply || id === this.#initializing) return this.#early.add(id);
    this.#replies.delete(id);
    this.#stored?.changeBy(id);
    reply.abandon();
  }

  openReplyStream(reply: Reply): EventStream {
    return this.streams.openReply(reply);
  }
}
