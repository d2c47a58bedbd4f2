import { Recent } from '../../../../base/recent.ts';
import { NoShareRoom, ShareRoom } from '../../../../base/share-room.ts';
import { shareOf } from '../../../../base/share.ts';
import {
  isObject,
  isRequest,
  isRequestId,
  isResponse,
  notification,
  type JsonObject,
  type Message,
  type RequestId,
} from '../../../../jsonrpc/message.ts';
import { NotificationMethod } from '../../../../protocol/methods.ts';
import { OtherStateKey, type Bus, type NodeId } from '../../../../store/bus.ts';
import type { EventId, SessionId, StreamId } from '../../../../store/event-log.ts';
import type { MessageExtra } from '../../../transport.ts';
import type { HttpCall } from '../call.ts';
import { Following, type Follower } from './following.ts';
import type { Revival } from './opening.ts';
import { askerOf } from './question-ids.ts';
import { RecentRequests } from './recent-requests.ts';
import { settingOf, type Setting } from './session-settings.ts';

/** How many sessions that have ended at another process are remembered. */
const MAX_ENDED = 1000;
/** A longer reason of a cancellation is cut. Characters. */
const MAX_REASON = 1000;
/** A cancellation of a request with a longer id is not passed on. Characters. */
const MAX_ID = 8192;
/** How many requests are remembered that have run here. */
const MAX_RUN = 1000;
/** A request with a longer id is not remembered. Characters. */
const MAX_RUN_ID = 100;
/**
 * The most messages of one client that wait for other processes. A message to all is one. With three processes this is an
 * eighth of what may wait for all clients.
 */
const MAX_OF_ONE = 64;
/** The most bytes of them. A single message may be larger. */
const MAX_BYTES_OF_ONE = 2 * 1024 * 1024;

/** How long the process that passed a session's own stream on to its client may take to stop this. Milliseconds. */
const TAKE_OVER_TIMEOUT = 5000;

/** The own stream of a session, as a process has left it. */
export interface LeftStream {
  /** The last event that the client has got there, if any. */
  readonly after?: EventId;
}

/** What must be known of a session to pass its messages on. */
export interface PassingSession {
  /** The name of the session at all processes. */
  readonly storedId: SessionId;
  readonly principal: string | undefined;
  /** The share of the client that opened the session here. */
  readonly share: string;
  /** Whether a request of the client is in flight here. */
  inUse(id: RequestId): boolean;
  /** Whether this process has asked a question. */
  mayHaveAsked(id: RequestId | undefined): boolean;
}

/** What a session is for the other processes that have it. */
export interface SharedSession extends PassingSession {
  /** When the client's last message came, by `performance.now()`. */
  lastSeen: number;
  /** Resolves when the session is open here, or cannot be opened. Undefined if it is open. */
  readonly revival: Promise<Revival> | undefined;
  receive(message: Message, extra: MessageExtra): void;
  /** Repeats what the client has changed at another process. */
  replay(changes: readonly Setting[], extra: MessageExtra): void;
  /** Another process passes the session's own stream on to the client now. Undefined if this one did not. */
  releaseOwnStream(): Promise<LeftStream | undefined>;
  /** The session's own stream has new events. Returns whether this process passes them on to the client. */
  readOwnStream(): boolean;
  /** Passes the events of a stream of this process on. */
  follow(stream: StreamId, follower: Follower): (() => void) | undefined;
  end(): Promise<void>;
}

/**
 * What became of a message for another process: it was taken, nothing waits for it, or it was not passed on. The last is
 * reported, unless too many messages of the client wait already.
 */
export type Passed = 'taken' | 'unwanted' | 'unreachable';

/** The other processes that may have the same sessions. What reaches the wrong process is passed on to the right one. */
export class OtherProcesses {
  readonly #bus: Bus;
  readonly #node: NodeId;
  readonly #onerror: (error: Error) => void;
  readonly #sessions = new Map<SessionId, { readonly session: SharedSession; readonly stop: () => void }>();
  readonly #ended = new Recent(MAX_ENDED);
  /** Cancellations that come late are for these. */
  readonly #run = new RecentRequests(MAX_RUN);
  /** Keeps one client from taking the room of all others on the bus. */
  readonly #room = new ShareRoom(MAX_OF_ONE, MAX_BYTES_OF_ONE);
  /** How many own streams of sessions were taken over from other processes. */
  takenOver = 0;
  /** The streams of calls that run at another process than the one where their client reads. */
  readonly following: Following;
  readonly #stop: readonly (() => void)[];

  constructor(bus: Bus, node: NodeId, onerror: (error: Error) => void) {
    this.#bus = bus;
    this.#node = node;
    this.#onerror = onerror;
    this.following = new Following(bus);
    this.#stop = [
      () => this.following.close(),
      bus.on('message', (body) => this.#receive(body)),
      bus.on('settings', (body) => this.#change(body)),
      bus.on('end', (body) => this.#end(body)),
      bus.on('own-stream', (body) => this.#find(body)?.readOwnStream() ?? false),
      bus.on('own-stream-taken', (body) => this.#release(body)),
    ];
  }

  /** This process has the session now. */
  add(session: SharedSession): void {
    const { storedId } = session;
    const stops = [
      this.#bus.answer(takeOverKind(storedId), async () => ({ left: await session.releaseOwnStream() })),
      this.following.serve(storedId, (about, stream, follower) => this.#find(about)?.follow(stream, follower)),
    ];
    const stop = (): void => {
      for (const end of stops) end();
    };
    this.#sessions.set(storedId, { session, stop });
  }

  delete(session: SharedSession): void {
    const known = this.#sessions.get(session.storedId);
    if (known?.session !== session) return;
    known.stop();
    this.#sessions.delete(session.storedId);
  }

  /** Whether another process has ended the session, which may have been read from the store before that. */
  hasEnded(session: SessionId): boolean {
    return this.#ended.has(session);
  }

  /** A request of the client runs here, so it runs at no other process (basic: Requests). */
  runs(session: SharedSession, id: RequestId): void {
    if (typeof id === 'number' || id.length <= MAX_RUN_ID) this.#run.add(session.storedId, id);
  }

  /** A request was refused here, so its client may repeat it at another process, with the same id. */
  refused(session: SharedSession, id: RequestId): void {
    this.#run.delete(session.storedId, id);
  }

  /**
   * How to pass on a response or notification of the client that is not only for this process. Undefined if it is for this
   * one.
   *
   * @param bytes the size of the message.
   */
  passing(session: PassingSession, message: Message, bytes: number): (() => Promise<Passed>) | undefined {
    if (isRequest(message)) return undefined;
    const { progressToken, requestId, reason } = ('method' in message && message.params) || {};
    if (isResponse(message)) {
      const asker = session.mayHaveAsked(message.id) ? undefined : this.#other(message.id);
      return asker === undefined ? undefined : () => this.#send(asker, session, message, bytes, 'unwanted');
    }
    if (message.method === NotificationMethod.Progress) {
      const asker = this.#other(progressToken);
      // The question may have been answered meanwhile, so it is not wrong if nothing waits for its progress.
      return asker === undefined ? undefined : () => this.#send(asker, session, message, bytes, 'taken');
    }
    if (message.method !== NotificationMethod.Cancelled)
      return isForAll(message) ? () => this.#tellAll(session, message, bytes) : undefined;
    if (!isRequestId(requestId) || session.inUse(requestId) || String(requestId).length > MAX_ID) return undefined;
    if (this.#run.has(session.storedId, requestId)) return undefined;
    const why = typeof reason === 'string' ? { reason: reason.slice(0, MAX_REASON) } : {};
    return () => this.#tellAll(session, notification(message.method, { requestId, ...why }), bytes);
  }

  /**
   * Changes the settings of a session at the other processes that have it.
   *
   * @throws (rejects) if some process may not know it.
   */
  change(session: SharedSession, changes: readonly Setting[]): Promise<void> {
    const body = { ...nameOf(session), changes };
    return this.#room.within(session.share, JSON.stringify(changes).length, () =>
      this.#bus.sendToAll('settings', body),
    );
  }

  /**
   * Ends a session, which is no longer in the store, at the other processes that have it.
   *
   * @throws (rejects) if some process may not know it.
   */
  end(session: SharedSession): Promise<void> {
    return this.#room.within(session.share, 0, () => this.#bus.sendToAll('end', nameOf(session)));
  }

  /**
   * Takes the own stream of a session over from another process. Undefined if that is gone, or has it no more.
   *
   * @throws (rejects) if some process may still pass the stream on to the client.
   */
  async takeOver(from: NodeId, session: SharedSession): Promise<LeftStream | undefined> {
    this.takenOver += 1;
    try {
      const signal = AbortSignal.timeout(TAKE_OVER_TIMEOUT);
      const { left } = await this.#bus.call(from, takeOverKind(session.storedId), {}, { signal });
      if (isObject(left)) return typeof left['after'] === 'string' ? { after: left['after'] } : {};
    } catch (error) {
      if (error instanceof OtherStateKey) throw error;
      // It may be suspended, and must learn it when it goes on. Processes with another key cannot, but have not had the stream.
      return this.takeOverFromAny(session).catch((failure: unknown) => {
        if (!(failure instanceof OtherStateKey)) throw failure;
        return undefined;
      });
    }
    return this.takeOverFromAny(session);
  }

  /**
   * Takes the own stream of a session over if the store does not say which process has it, as after a loss of its data.
   *
   * @throws (rejects) if some process may still pass the stream on to the client.
   */
  async takeOverFromAny(session: SharedSession): Promise<undefined> {
    await this.#bus.sendToAll('own-stream-taken', { ...nameOf(session), reader: this.#node });
  }

  /** Tells the process that passes the own stream of a session on to its client that there are new events. */
  async hint(reader: NodeId, session: SharedSession): Promise<void> {
    await this.#bus.send(reader, 'own-stream', nameOf(session));
  }

  /** Passes on a response that the client meant to send, which is malformed. Its outcome changes nothing for the client. */
  fail(session: PassingSession, failure: Message, bytes: number): boolean {
    const pass = this.passing(session, failure, bytes);
    void pass?.();
    return pass !== undefined;
  }

  /** Takes no messages any more. */
  close(): void {
    for (const stop of this.#stop) stop();
  }

  /** The other process that has chosen an id. */
  #other(id: unknown): NodeId | undefined {
    const asker = askerOf(id);
    return asker === this.#node ? undefined : asker;
  }

  #send(to: NodeId, session: PassingSession, message: Message, bytes: number, otherwise: Passed): Promise<Passed> {
    const body = { ...nameOf(session), message, bytes };
    return this.#pass(session, bytes, async () => ((await this.#bus.send(to, 'message', body)) ? 'taken' : otherwise));
  }

  /** Any process may run a request that is cancelled. It may also have been answered meanwhile. */
  #tellAll(session: PassingSession, message: Message, bytes: number): Promise<Passed> {
    const body = { ...nameOf(session), message, bytes: 0 };
    return this.#pass(session, bytes, async () => {
      await this.#bus.sendToAll('message', body);
      return 'taken';
    });
  }

  async #pass(session: PassingSession, bytes: number, send: () => Promise<Passed>): Promise<Passed> {
    try {
      return await this.#room.within(session.share, bytes, send);
    } catch (error) {
      if (!(error instanceof NoShareRoom)) this.#onerror(error as Error);
      return 'unreachable';
    }
  }

  /** The session that a message is about. It must belong to the same principal. */
  #find({ session: id, principal }: JsonObject): SharedSession | undefined {
    const session = this.#sessions.get(id as SessionId)?.session;
    return session?.principal === principal ? session : undefined;
  }

  #receive(body: JsonObject): boolean {
    const session = this.#find(body);
    if (!session || !isObject(body['message'])) return false;
    const message = body['message'] as Message;
    if (!isFor(session, message)) return false;
    session.lastSeen = performance.now();
    session.receive(message, { principal: session.principal, bytes: Number(body['bytes']) });
    return true;
  }

  #change(body: JsonObject): boolean {
    const session = this.#find(body);
    const given: unknown = body['changes'];
    if (!session || !Array.isArray(given)) return false;
    const changes = given.flatMap((change) => (isObject(change) ? (settingOf(change) ?? []) : []));
    const replay = (): void => session.replay(changes, { principal: session.principal });
    // A session that is not open yet begins with the settings in the store, which may be the former ones.
    if (!session.revival) replay();
    else void session.revival.then((revived) => (revived === 'open' ? replay() : undefined));
    return true;
  }

  #release(body: JsonObject): boolean {
    const session = this.#find(body);
    session?.releaseOwnStream().catch(this.#onerror);
    return session !== undefined;
  }

  #end(body: JsonObject): boolean {
    this.#ended.add(body['session']);
    const session = this.#find(body);
    session?.end().catch(this.#onerror);
    return session !== undefined;
  }
}

/** A session that only other processes have. */
export function elsewhere(storedId: SessionId, call: HttpCall): PassingSession {
  const { principal } = call;
  return { storedId, principal, share: shareOf(call), inUse: () => false, mayHaveAsked: () => false };
}

/** What names a session in a message. */
export function nameOf({ storedId, principal }: Pick<SharedSession, 'storedId' | 'principal'>): JsonObject {
  return { session: storedId, ...(principal === undefined ? {} : { principal }) };
}

function takeOverKind(session: SessionId): string {
  return `take-over ${session}`;
}

/**
 * Whether a notification of the client is for all processes that have the session. A cancellation may come before its call,
 * which any of them may get.
 */
export function isForAll(message: Message): boolean {
  if (!('method' in message)) return false;
  return message.method === NotificationMethod.RootsListChanged || message.method === NotificationMethod.Cancelled;
}

/** Whether a message that has reached another process may be for this one. */
function isFor(session: SharedSession, message: Message): boolean {
  if (isResponse(message)) return session.mayHaveAsked(message.id);
  if (isRequest(message)) return false;
  return message.method === NotificationMethod.Progress || isForAll(message);
}
