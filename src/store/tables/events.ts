import { nextTurn } from '../../base/wait.ts';
import { errorResponse, isResponse, type ErrorObject, type Message, type RequestId } from '../../jsonrpc/message.ts';
import {
  eventLogBounds,
  EventsPurged,
  type EventId,
  type EventLog,
  type EventLogBounds,
  type EventLogOptions,
  type FoundStream,
  type LoggedEvent,
  type SessionId,
  type StreamId,
  type UnfinishedStream,
} from '../event-log.ts';
import { SessionEvents } from './session-events.ts';
import type { Table } from './table.ts';

/** Milliseconds between two looks for expired events. */
const SWEEP_INTERVAL = 1000;
/** How many events one look removes at most, so that it does not keep the event loop. */
const SWEEP_EVENTS = 500;
/** How many events are read together. In between, the reader may be slow. */
const PAGE = 100;
/** How much text is read together. Characters. */
const PAGE_TEXT = 64 * 1024;

/**
 * An event log in tables. Events of a session have numbers in the order in which they were appended, over all its streams:
 * the number is part of the key, so the oldest ones come first.
 */
export class EventsInTables implements EventLog {
  readonly #sessions = new Map<SessionId, SessionEvents>();
  readonly #events: Table;
  readonly #streams: Table;
  readonly #bounds: EventLogBounds;
  readonly #now: () => number;
  #bytes = 0;
  #swept: number;
  /** Settles when the sessions that were dropped so far are removed. */
  #cleared: Promise<void> = Promise.resolve();

  /** @throws RangeError if a bound is negative or not a number. */
  constructor(events: Table, streams: Table, options: EventLogOptions = {}) {
    const { now = () => Date.now() } = options;
    this.#events = events;
    this.#streams = streams;
    this.#bounds = eventLogBounds(options);
    this.#now = now;
    this.#swept = now();
    this.#restore();
  }

  async open(session: SessionId, stream: StreamId, requests?: readonly RequestId[]): Promise<EventId> {
    const newest = this.#sessions.get(session)?.newest(stream);
    return newest ?? this.#append(session, stream, undefined, requests);
  }

  append(session: SessionId, stream: StreamId, message: Message | undefined): Promise<EventId> {
    return this.#append(session, stream, message, undefined);
  }

  async end(session: SessionId, stream: StreamId, failure?: ErrorObject): Promise<void> {
    const events = this.#sessions.get(session);
    const unanswered = (failure && events?.unanswered(stream)) ?? [];
    for (const id of unanswered) await this.append(session, stream, errorResponse(id, failure!));
    await events?.end(stream);
  }

  async *after(session: SessionId, id: EventId): AsyncGenerator<LoggedEvent> {
    const events = this.#sessions.get(session);
    const found = this.#find(session, id);
    if (!events || !found) throw new EventsPurged(id, undefined);
    const { stream, last } = found;
    let place = found.n;
    if (place < stream.dropped) throw new EventsPurged(id, `${stream.id}-${stream.dropped}`);
    for (let from = place + 1; from <= last;) {
      const page = events.page(from, last, PAGE, PAGE_TEXT);
      for (const event of page) {
        if (event.stream !== stream.id) continue;
        if (event.previous !== place) {
          // Events in between are lost. What came before them was read.
          if (place === found.n) throw new EventsPurged(id, `${stream.id}-${event.previous}`);
          return;
        }
        place = event.n;
        yield { id: `${stream.id}-${event.n}`, message: event.message };
      }
      const newest = page.at(-1);
      if (!newest) break;
      from = newest.n + 1;
      // A stream may have few events among many of others.
      if (from <= last) await nextTurn();
    }
    if (place < last && place === found.n) throw new EventsPurged(id, `${stream.id}-${last}`);
  }

  async find(session: SessionId, id: EventId): Promise<FoundStream | undefined> {
    const { stream } = this.#find(session, id) ?? {};
    return stream && { stream: stream.id, ended: stream.ended };
  }

  async unfinished(session: SessionId): Promise<readonly UnfinishedStream[]> {
    return this.#sessions.get(session)?.unfinished() ?? [];
  }

  async drop(session: SessionId): Promise<void> {
    const events = this.#sessions.get(session);
    if (!events) return;
    this.#sessions.delete(session);
    this.#bytes -= events.counted;
    // One by one: the portions of many sessions that end together would keep the event loop.
    const cleared = this.#cleared.then(() => events.clear());
    this.#cleared = cleared.catch(() => {});
    try {
      await cleared;
    } catch (error) {
      // The session has what is still stored of it.
      if (!this.#sessions.has(session)) this.#add(session);
      throw error;
    }
  }

  /** Removes the events that have expired. */
  async expire(): Promise<void> {
    for (const session of [...this.#sessions.keys()]) {
      for (;;) {
        const events = this.#sessions.get(session);
        if (!events || this.#counted(events, () => events.expire(this.#now(), SWEEP_EVENTS)) === 0) break;
        await nextTurn();
      }
    }
  }

  /** Forgets the sessions that nobody can continue. */
  async keepOnly(isKept: (session: SessionId) => boolean): Promise<void> {
    for (const session of [...this.#sessions.keys()]) if (!isKept(session)) await this.drop(session);
  }

  #find(session: SessionId, id: EventId) {
    const events = this.#sessions.get(session);
    if (!events) return undefined;
    this.#counted(events, () => events.expire(this.#now(), SWEEP_EVENTS));
    return events.find(id);
  }

  async #append(
    session: SessionId,
    stream: StreamId,
    message: Message | undefined,
    requests: readonly RequestId[] | undefined,
  ): Promise<EventId> {
    const now = this.#now();
    this.#sweep(now);
    const events = this.#sessions.get(session) ?? this.#add(session);
    const answered = message && isResponse(message) ? message.id : undefined;
    const appended = this.#counted(events, () => events.append({ stream, message, answered, requests, now }));
    if (this.#bytes > this.#bounds.maxTotalBytes) this.#shrink();
    try {
      return await appended;
    } catch (error) {
      // What could not be stored no longer counts.
      if (this.#sessions.get(session) === events) this.#count(events);
      throw error;
    }
  }

  #add(session: SessionId): SessionEvents {
    const events = new SessionEvents(session, this.#events, this.#streams, this.#bounds);
    this.#sessions.set(session, events);
    this.#count(events);
    return events;
  }

  #count(events: SessionEvents): void {
    this.#bytes += events.bytes - events.counted;
    events.counted = events.bytes;
  }

  /** Does something that changes the size of a session. */
  #counted<T>(events: SessionEvents, work: () => T): T {
    try {
      return work();
    } finally {
      this.#count(events);
    }
  }

  /** An idle session would keep expired events until it ends, so active ones remove them. */
  #sweep(now: number): void {
    if (now - this.#swept < SWEEP_INTERVAL) return;
    this.#swept = now;
    let room = SWEEP_EVENTS;
    for (const events of this.#sessions.values()) {
      if (room <= 0) return;
      room -= this.#counted(events, () => events.expire(now, room));
    }
  }

  /** Halves the largest sessions, so that not every new event needs this work, but removes no more than one look. */
  #shrink(): void {
    const enough = this.#bounds.maxTotalBytes * 0.9;
    let room = SWEEP_EVENTS;
    const largest = [...this.#sessions.values()].toSorted((a, b) => b.bytes - a.bytes);
    for (const events of largest) {
      if (this.#bytes <= enough || room <= 0) return;
      room -= this.#counted(events, () => events.shrink(events.bytes / 2, room));
    }
  }

  /** Finds the sessions that a former process has left. */
  #restore(): void {
    for (const table of [this.#streams, this.#events]) {
      for (let start = ''; ;) {
        const [first] = [...table.range({ start, limit: 1 })];
        if (!first) break;
        const session = SessionEvents.sessionOf(first[0]);
        start = SessionEvents.endOf(session);
        if (!this.#sessions.has(session)) this.#add(session);
      }
    }
  }
}
