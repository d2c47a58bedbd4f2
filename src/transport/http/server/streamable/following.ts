import { Deferred } from '../../../../base/deferred.ts';
import { ShareRoom } from '../../../../base/share-room.ts';
import type { JsonObject } from '../../../../jsonrpc/message.ts';
import type { Bus, NodeId, ReceivedCall } from '../../../../store/bus.ts';
import type { EventId, SessionId, StreamId } from '../../../../store/event-log.ts';
import { PassedEvents, type PassedEvent } from './passed-events.ts';

/** The most streams that one client may follow at a time. It reads others again and again. */
const MAX_OF_ONE = 1000;

/** Why a process passes no more events of a stream on. */
export type FollowEnd =
  /** The stream has ended, in the log too. */
  | 'ended'
  /** The client reads the stream at another place now. */
  | 'taken'
  /** Some events may not have been passed on. */
  | 'missed'
  /** The client should ask again later. */
  | 'paused';

/** Another process, where a client reads a stream that this one writes. */
export interface Follower {
  /**
   * There is a new event in the log.
   *
   * @param before the event of the stream before it, or the event itself if nothing is known of the one before.
   * @param json the message, if it is known.
   */
  event(before: EventId, id: EventId, json?: string): void;
  /** Must be called once, when no more events will be passed on. */
  stop(end: FollowEnd): void;
}

/** A client that reads here what another process writes. */
export interface FollowingReader {
  /** See `Follower`. Events may come late, and in another order. */
  take(before: EventId, id: EventId, json: string | undefined): void;
}

/** A stream that runs at another process. */
interface StreamElsewhere {
  readonly writer: NodeId;
  readonly stream: StreamId;
  /** What names its session for other processes. */
  readonly session: JsonObject;
  /** The share of its client. */
  readonly share: string;
}

/** Finds a stream that this process writes, and adds a follower. Returns a function that removes it; undefined if there is none. */
type FindStream = (about: JsonObject, stream: StreamId, follower: Follower) => (() => void) | undefined;

/**
 * Clients may read the stream of a call at another process than the one that runs the call. That process knows from a call
 * over the bus who reads the stream. The call is open as long as events are passed on, so both processes see when the other
 * one is gone. A stream that nobody follows costs nothing.
 */
export class Following {
  readonly #bus: Bus;
  /** Those that read here, by the numbers that other processes know. */
  readonly #readers = new Map<number, FollowingReader>();
  readonly #passed: PassedEvents;
  readonly #room = new ShareRoom(MAX_OF_ONE, Infinity);
  #count = 0;
  readonly #stop: () => void;

  constructor(bus: Bus) {
    this.#bus = bus;
    this.#passed = new PassedEvents(bus);
    this.#stop = bus.on('events', ({ events }) => this.#take(events as PassedEvent[]));
  }

  /**
   * Passes the streams of a session on to the processes where its client reads. Several handlers of this process may use the bus, so
   * each session has a kind of its own. Returns a function that ends this; streams that are followed go on.
   */
  serve(session: SessionId, find: FindStream): () => void {
    return this.#bus.answer(kindOf(session), async (body, call) => ({ end: await this.#passOn(body, call, find) }));
  }

  /**
   * Passes the new events of a stream to a reader until there are no more. First, the reader hears of the newest one.
   *
   * @throws (rejects) if the other process has ended, or cannot be reached.
   */
  async follow(
    { writer, stream, session, share }: StreamElsewhere,
    reader: FollowingReader,
    signal: AbortSignal,
  ): Promise<FollowEnd> {
    const n = (this.#count += 1);
    this.#readers.set(n, reader);
    try {
      const body = { ...session, stream, n };
      const kind = kindOf(session['session']);
      const { end } = await this.#room.within(share, 0, () => this.#bus.call(writer, kind, body, { signal }));
      return end as FollowEnd;
    } finally {
      this.#readers.delete(n);
    }
  }

  close(): void {
    this.#stop();
  }

  async #passOn(
    { stream, n, ...about }: JsonObject,
    { from, signal }: ReceivedCall,
    find: FindStream,
  ): Promise<FollowEnd> {
    const ended = new Deferred<FollowEnd>();
    const follower: Follower = {
      event: (before, id, json) => this.#passed.add(from, [Number(n), before, id, json], () => ended.resolve('missed')),
      stop: (end) => ended.resolve(end),
    };
    signal.addEventListener('abort', () => ended.resolve('paused'));
    const unfollow = find(about, String(stream), follower);
    if (!unfollow) return 'paused';
    const end = await ended.promise;
    unfollow();
    return end;
  }

  /** Whether any event was for a reader here. */
  #take(events: readonly PassedEvent[]): boolean {
    let taken = false;
    for (const [n, before, id, json] of events) {
      const reader = this.#readers.get(n);
      reader?.take(before, id, json);
      taken ||= reader !== undefined;
    }
    return taken;
  }
}

function kindOf(session: SessionId): string {
  return `follow ${session}`;
}
