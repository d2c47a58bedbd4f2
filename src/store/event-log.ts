import { checkBounds } from '../base/bounds.ts';
import { shortJson } from '../base/short-text.ts';
import type { ErrorObject, Message, RequestId } from '../jsonrpc/message.ts';

/** Identifies a session. Unique among all that share the log. */
export type SessionId = string;
/** Identifies a stream within its session. Letters and digits only. */
export type StreamId = string;
/** Identifies an event. Unique within its session, contains the id of its stream, and is visible ASCII. */
export type EventId = string;

/** An event of a stream. */
export interface LoggedEvent {
  readonly id: EventId;
  /** Undefined for an event with an id but no data: the priming event of 2025-11-25. */
  readonly message: Message | undefined;
}

/** A stream, as found by one of its events. */
export interface FoundStream {
  readonly stream: StreamId;
  /** Whether no more events will come. */
  readonly ended: boolean;
}

/** A stream on which responses are missing. */
export interface UnfinishedStream {
  readonly stream: StreamId;
  /** The requests without a response. */
  readonly requests: readonly RequestId[];
}

/**
 * Keeps the events of streams in order, so that a client can resume after a lost connection (2025-11-25, transports:
 * Resumability and Redelivery).
 *
 * Everything is scoped by session: an event id is valid only in its own session. The log is bounded in bytes and in age.
 * Concurrent calls are safe for different streams. A stream with requests has one writer, which opens it first, and then
 * makes one call after the other. Several processes may write a stream without requests at once, if they may use the log.
 */
export interface EventLog {
  /**
   * Opens a stream: appends an event that has no message. A stream that exists is continued, and gets no event.
   *
   * @param requests whose responses the stream will have. It ends with the last of them. Without requests, it goes on
   * until `end`.
   * @returns the id of the newest event of the stream.
   */
  open(session: SessionId, stream: StreamId, requests?: readonly RequestId[]): Promise<EventId>;
  /** Appends an event to a stream and resolves with its id. Drops older events if a limit is reached. */
  append(session: SessionId, stream: StreamId, message: Message | undefined): Promise<EventId>;
  /**
   * Appends several events to a stream in one step, all of them or none, and resolves with their ids. Only the last message
   * may be a response. A log that needs a round trip for each append should have it. Default: the events of a stream are
   * appended one after the other.
   */
  appendAll?(session: SessionId, stream: StreamId, messages: readonly Message[]): Promise<readonly EventId[]>;
  /**
   * Ends a stream, also if responses are missing: nothing more will be appended. Does nothing if the stream has ended.
   *
   * @param failure the error that each request without a response gets first. If several processes end the stream at once,
   * it is appended once. Default: they get no response.
   */
  end(session: SessionId, stream: StreamId, failure?: ErrorObject): Promise<void>;
  /**
   * Iterates over the events after `id` on its stream that exist at the time of the call, then ends.
   *
   * @throws EventsPurged before the first event, if any of these events was dropped, or if `id` was never issued.
   */
  after(session: SessionId, id: EventId): AsyncIterable<LoggedEvent>;
  /** The stream of an event id, or undefined if the session has no such id. */
  find(session: SessionId, id: EventId): Promise<FoundStream | undefined>;
  /** The streams that have not ended, though they were opened for requests. */
  unfinished(session: SessionId): Promise<readonly UnfinishedStream[]>;
  /** Forgets a session. */
  drop(session: SessionId): Promise<void>;
}

/** Some or all events after an id were dropped and are lost. */
export class EventsPurged extends Error {
  override readonly name = 'EventsPurged';
  /** The last dropped event; all later ones are still available. Undefined if the id was never issued. */
  readonly until: EventId | undefined;

  constructor(id: EventId, until: EventId | undefined) {
    super(`Events after ${shortJson(id)} are no longer available`);
    this.until = until;
  }
}

/** The limits of an event log. When one is reached, the oldest events are dropped. */
export interface EventLogOptions {
  /** How many bytes the events of one session may take. The log says how it counts them. Default 4 MiB. */
  maxBytes?: number | undefined;
  /**
   * How many bytes all sessions together may keep. Above it, the largest sessions lose their oldest events. Default 256
   * MiB.
   */
  maxTotalBytes?: number | undefined;
  /** How many events one session may keep, over all its streams. Default 10 000. */
  maxEvents?: number | undefined;
  /** How long an event is kept, in milliseconds. Default 10 minutes. */
  maxAge?: number | undefined;
  /** The clock, in milliseconds. The log says which clock is the default, and whether only differences count. */
  now?: (() => number) | undefined;
}

/** The limits of an event log, with the defaults of those that are not given. */
export type EventLogBounds = Readonly<Required<Omit<EventLogOptions, 'now'>>>;

/** @throws RangeError if a limit is negative or not a number. */
export function eventLogBounds(options: EventLogOptions): EventLogBounds {
  const {
    maxBytes = 4 * 1024 * 1024,
    maxTotalBytes = 256 * 1024 * 1024,
    maxEvents = 10_000,
    maxAge = 600_000,
  } = options;
  const bounds = { maxBytes, maxTotalBytes, maxEvents, maxAge };
  checkBounds(bounds);
  return bounds;
}
