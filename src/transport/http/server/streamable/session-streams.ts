import type { Message, RequestId } from '../../../../jsonrpc/message.ts';
import type { RevisionProfile } from '../../../../protocol/revisions.ts';
import type { NodeId } from '../../../../store/bus.ts';
import { EventsPurged, type EventId, type SessionId, type StreamId } from '../../../../store/event-log.ts';
import type { HttpCall, HttpHeaders } from '../call.ts';
import { SseConnection } from '../connection.ts';
import type { EndpointOptions } from '../endpoint.ts';
import { SSE_HEADERS } from '../sse.ts';
import { pollEvents } from './copy-events.ts';
import type { EventStream } from './event-stream.ts';
import { FollowedStream } from './followed-stream.ts';
import type { Follower, Following } from './following.ts';
import { KeptStreams } from './kept-streams.ts';
import { nameOf } from './other-processes.ts';
import { OwnStream, type OwnStreamParts } from './own-stream.ts';
import type { Reply } from './reply.ts';
import { isOfStandalone, STANDALONE, streamIn, writerOf } from './stream-ids.ts';

/** What the streams need from their session. */
export interface StreamsOwner {
  /** See `shareOf`. */
  readonly share: string;
  readonly storedId: SessionId;
  readonly principal: string | undefined;
  readonly profile: RevisionProfile | undefined;
  lastSeen: number;
  readonly onerror?: ((error: Error) => void) | undefined;
  /** Ends a stream of another process, unless that process goes on with it. Returns whether it has ended. */
  endIfLost(stream: StreamId): Promise<boolean>;
}

/** How the ids of a session's streams begin. */
export interface StreamNames {
  /** Begins the ids of streams. In a revived session, or with a shared store, it is new: no event id is used twice. */
  readonly prefix: string;
  /** The id of the session's own stream. With a store of one process, a revived session continues the stream as it was. */
  readonly standalone: StreamId;
}

/** A stream of which the log knows an event. */
export interface FoundStream {
  readonly id: StreamId;
  readonly ended: boolean;
  /** Whether only the log has what follows: another process may write it, or the log could not be reached. */
  readonly elsewhere: boolean;
}

/** The names in a session that no other process has. */
export const OWN_NAMES: StreamNames = { prefix: '', standalone: STANDALONE };

/** The streams of a session, which its calls and its GET requests read: the session's own stream and those of replies. */
export class SessionStreams {
  readonly #owner: StreamsOwner;
  readonly #options: EndpointOptions;
  readonly #names: StreamNames;
  readonly #streams = new KeptStreams();
  /** Those who read what other processes have written, by stream. */
  #copying: Map<StreamId, SseConnection> | undefined;
  /** The session's own stream, if several processes use the store. */
  readonly own: OwnStream | undefined;
  #count = 0;

  /** @param shared what the own stream needs of the session, if several processes use the store. */
  constructor(
    owner: StreamsOwner,
    options: EndpointOptions,
    names: StreamNames,
    shared?: Omit<OwnStreamParts, 'create'>,
  ) {
    this.#owner = owner;
    this.#options = options;
    this.#names = names;
    const create = (start: EventId): EventStream => this.#add(STANDALONE, undefined, false, start);
    if (shared) this.own = new OwnStream({ ...shared, create });
  }

  /** Whether the client reads any stream. */
  get connected(): boolean {
    return this.#streams.isRead || (this.#copying?.size ?? 0) > 0;
  }

  /** Whether the client reads the session's own stream at this process. */
  get ownIsRead(): boolean {
    return (this.own ?? this.#streams.get(this.#names.standalone))?.isRead ?? false;
  }

  /** Sends a message that belongs to no call. */
  send(message: Message): Promise<void> {
    return (this.own ?? this.#standalone).send(message);
  }

  /** The session's own stream, if no other process uses the store. */
  get #standalone(): EventStream {
    const { standalone } = this.#names;
    return this.#streams.get(standalone) ?? this.#add(standalone);
  }

  /** Opens a stream for the responses of a POST, and connects its call to it. */
  openReply(reply: Reply): EventStream {
    const stream = this.#add(this.#names.prefix + String(++this.#count), reply.requests);
    this.#connect(reply.call, stream, undefined, reply.headers);
    return stream;
  }

  /** Answers a GET with the session's own stream, if no other process uses the store. */
  listen(call: HttpCall): void {
    this.#connect(call, this.#standalone, undefined);
  }

  /** Answers a GET with the session's own stream, which several processes write. */
  listenTo(call: HttpCall, own: EventStream, lastEventId: EventId | undefined): void {
    this.#connect(call, own, lastEventId);
  }

  /** Answers a GET with a stream from an event on. */
  resume(call: HttpCall, { id }: FoundStream, lastEventId: EventId): void {
    const own = id === this.#names.standalone ? this.#standalone : this.#streams.get(id);
    this.#connect(call, own ?? this.#add(id, undefined, true), lastEventId);
  }

  /** Answers a GET with a stream that another process writes. */
  readElsewhere(call: HttpCall, lastEventId: EventId): void {
    const { others, shared } = this.#options;
    const writer = shared && writerOf(streamIn(lastEventId), shared);
    if (others && writer !== undefined) this.#follow(call, lastEventId, writer, others.following);
    else this.#poll(call, lastEventId);
  }

  /** Passes the events of a stream on to another process. */
  follow(stream: StreamId, follower: Follower): (() => void) | undefined {
    return this.#streams.get(stream)?.follow(follower);
  }

  #follow(call: HttpCall, lastEventId: EventId, writer: NodeId, following: Following): void {
    const stream = streamIn(lastEventId);
    const leaving = new AbortController();
    const close = (): void => {
      leaving.abort();
      followed.close();
    };
    const connection = this.#connection(call, undefined, close, () => followed.pause());
    const place = { writer, stream, session: nameOf(this.#owner), share: this.#owner.share };
    const followed: FollowedStream = new FollowedStream({
      ...this.#placeAfter(lastEventId),
      ...{ connection, retry: this.#options.retry, primes: this.#primes },
      follow: (reader) => following.follow(place, reader, leaving.signal),
      hasEnded: async (last) => (await this.find(last))?.ended ?? true,
      onerror: (error) => this.#owner.onerror?.(error),
    });
    this.#copy(stream, connection, () => followed.write());
  }

  /** Writes what another process has written until now. The client asks again for the rest. */
  #poll(call: HttpCall, lastEventId: EventId): void {
    const connection = this.#connection(call, undefined, () => {});
    this.#copy(streamIn(lastEventId), connection, () =>
      pollEvents(this.#placeAfter(lastEventId), connection, this.#options.retry, this.#primes),
    );
  }

  /** The stream that an event id of the session belongs to, if the log knows it. */
  async find(lastEventId: EventId): Promise<FoundStream | undefined> {
    const { log, shared } = this.#options;
    const { stream: id, ended } = (await log.find(this.#owner.storedId, lastEventId)) ?? {};
    if (id === undefined) return undefined;
    const known = this.#streams.get(id);
    if (known?.failsLater) return { id, ended: false, elsewhere: true };
    if (known) return { id, ended: known.ended, elsewhere: false };
    // The session's own stream goes on here. Those of other processes can only be read.
    if (id === this.#names.standalone) return { id, ended: false, elsewhere: false };
    const elsewhere = shared !== undefined && !ended && !(await this.#owner.endIfLost(id));
    return { id, ended: !elsewhere, elsewhere };
  }

  /** Whether events follow this one on its stream. @throws EventsPurged if some of them were dropped. */
  async hasMore(lastEventId: EventId): Promise<boolean> {
    let hasMore = false;
    await this.#whenItsTurn(async () => {
      const events = this.#options.log.after(this.#owner.storedId, lastEventId)[Symbol.asyncIterator]();
      hasMore = (await events.next()).done !== true;
      await events.return?.();
      return 0;
    });
    return hasMore;
  }

  /** Whether an event belongs to the session's own stream at another process. The stream goes on here, after a gap. */
  isOfFormer(lastEventId: EventId): boolean {
    const { standalone } = this.#names;
    if (standalone === STANDALONE) return false;
    return isOfStandalone(lastEventId) && !lastEventId.startsWith(standalone);
  }

  /** Ends the connections of the session's own stream. See `EventStream.pause`. */
  pause(): void {
    this.#streams.get(this.#names.standalone)?.pause(this.#options.retry);
  }

  /** Resolves when all streams have written everything. */
  close(): Promise<void> {
    this.own?.close();
    for (const connection of this.#copying?.values() ?? []) connection.end();
    return this.#streams.close();
  }

  /** Whether clients know events without data. */
  get #primes(): boolean {
    return this.#owner.profile?.primingEvent ?? false;
  }

  readonly #whenItsTurn = (read: () => Promise<number>): Promise<void> =>
    this.#options.readTurns.run(this.#owner.share, read);

  #add(id: StreamId, requests?: readonly RequestId[], ended = false, start?: EventId): EventStream {
    return this.#streams.open({
      log: this.#options.log,
      session: this.#owner.storedId,
      id,
      requests,
      ended,
      start,
      priming: this.#primes,
      whenItsTurn: this.#whenItsTurn,
      onerror: (error) => this.#owner.onerror?.(error),
    });
  }

  #connect(call: HttpCall, stream: EventStream, after: EventId | undefined, headers?: HttpHeaders): void {
    const { retry } = this.#options;
    const connection = this.#connection(
      call,
      headers,
      () => stream.detach(connection),
      () => stream.pause(retry, connection),
    );
    stream.attach(connection, after);
  }

  /** @param pause called when the client should reconnect, if it can. */
  #connection(
    call: HttpCall,
    headers: HttpHeaders | undefined,
    onclose: () => void,
    pause?: () => void,
  ): SseConnection {
    const { connections, streamDuration } = this.#options;
    const timer = pause && streamDuration > 0 && this.#primes ? setTimeout(pause, streamDuration) : undefined;
    return new SseConnection(call.stream(200, { ...headers, ...SSE_HEADERS }), connections, () => {
      clearTimeout(timer);
      this.#owner.lastSeen = performance.now();
      onclose();
    });
  }

  /** Writes events that other processes have written. A client that asks for them again does not read the former response. */
  #copy(stream: StreamId, connection: SseConnection, write: () => Promise<void>): void {
    const copying = (this.#copying ??= new Map());
    copying.get(stream)?.cutShort();
    copying.set(stream, connection);
    write()
      .catch((error: Error) => this.#owner.onerror?.(error))
      .finally(() => {
        if (copying.get(stream) === connection) copying.delete(stream);
      });
  }

  #placeAfter(after: EventId): Parameters<typeof pollEvents>[0] {
    return { log: this.#options.log, session: this.#owner.storedId, after, whenItsTurn: this.#whenItsTurn };
  }
}

/** What a client can resume. */
export interface Resumable {
  readonly stream: FoundStream | undefined;
  readonly hasMore: boolean;
}

/** Finds the stream that a client wants to resume. */
export async function resumable(streams: SessionStreams, lastEventId: EventId): Promise<Resumable | EventsPurged> {
  try {
    const stream = await streams.find(lastEventId);
    return { stream, hasMore: stream !== undefined && (await streams.hasMore(lastEventId)) };
  } catch (error) {
    if (error instanceof EventsPurged) return error;
    throw error;
  }
}
