import type { Message } from '../jsonrpc/message.ts';

/** Names a session; unique among all that share the log. */
export type SessionId = string;
/** Names a stream within its session. Letters and digits only. */
export type StreamId = string;
/** Unique within its session, names its stream, and is visible ASCII. */
export type EventId = string;

/** An event as it was appended. */
export interface LoggedEvent {
  readonly id: EventId;
  /** Undefined for an event that carries an id and nothing else: the priming event of 2025-11-25. */
  readonly message: Message | undefined;
}

/**
 * Events of a stream, in order, so that a client that lost its connection can have what it missed
 * (2025-11-25, transports: Resumability and Redelivery).
 *
 * Everything is scoped by session: an event id of one session names nothing in another. Bounded in bytes and in age.
 * Safe to call concurrently for different streams; appends to one stream are made one after the other, by one writer.
 */
export interface EventLog {
  /** Adds an event to the end of a stream and resolves with its id. Older events are dropped where a bound is reached. */
  append(session: SessionId, stream: StreamId, message: Message | undefined): Promise<EventId>;
  /**
   * Everything after `id` on the stream that `id` belongs to, up to what was there when it was called. Ends when that
   * is exhausted.
   *
   * @throws EventsPurged at once, before the first event, where any of it was dropped, or where `id` was never given out.
   */
  after(session: SessionId, id: EventId): AsyncIterable<LoggedEvent>;
  /** The stream that an id names, or undefined where it names none of this session's. */
  streamOf(session: SessionId, id: EventId): Promise<StreamId | undefined>;
  /** Forgets a session. */
  drop(session: SessionId): Promise<void>;
}

/** The events after an id are not (all) there any more: what was dropped of them is lost. */
export class EventsPurged extends Error {
  override readonly name = 'EventsPurged';
  /** The last event that was dropped; what came after it is still there. Undefined where the id was never given out. */
  readonly until: EventId | undefined;

  constructor(id: EventId, until: EventId | undefined) {
    super(`Events after ${JSON.stringify(id)} are no longer available`);
    this.until = until;
  }
}
