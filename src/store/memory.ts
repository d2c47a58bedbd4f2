import { errorResponse, isResponse, type ErrorObject, type Message, type RequestId } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';
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
} from './event-log.ts';

/** The limits of an in-memory event log. When one is reached, the oldest events are dropped. */
export interface MemoryEventLogOptions extends EventLogOptions {
  /** How many bytes of memory the messages of one session may take (estimated). Default 4 MiB. */
  maxBytes?: number | undefined;
  /** The clock, in milliseconds. Only differences count. Default `performance.now`. */
  now?: (() => number) | undefined;
}

/** An event log in memory. */
export interface MemoryEventLog extends EventLog {
  /** How many bytes of messages all sessions together keep now. */
  readonly bytes: number;
}

/** An event in two linked lists. A reader can continue from an event after the log has dropped it. */
interface Node {
  readonly stream: Stream;
  readonly n: number;
  readonly message: Message | undefined;
  readonly bytes: number;
  readonly at: number;
  nextInSession: Node | undefined;
  nextInStream: Node | undefined;
}

interface Stream {
  readonly id: StreamId;
  /** The numbers of the issued events are `first` to `last`. Events up to `dropped` were dropped. */
  readonly first: number;
  last: number;
  dropped: number;
  head: Node | undefined;
  tail: Node | undefined;
  /** The requests without a response. Undefined if the stream was not opened for requests. */
  requests: readonly RequestId[] | undefined;
  ended: boolean;
}

/** What each event takes besides its message, even one without: 215 bytes, as measured with one event in each stream. */
const EVENT_BYTES = 216;

/** How many streams without events a session remembers, so that the newest id of a quiet stream stays valid. */
const MAX_SPENT_STREAMS = 1000;

/**
 * Keeps events in the memory of this process. When a limit is reached, the oldest events of the session are dropped, from
 * any stream. Expired events are removed at the next use of the log; there is no timer. Messages are kept by reference
 * and must not be changed later. Their size is estimated from what they take in memory, not from their text.
 *
 * @throws RangeError if a bound is negative or not a number.
 */
export function memoryEventLog(options: MemoryEventLogOptions = {}): MemoryEventLog {
  return new EventsInMemory(eventLogBounds(options), options.now ?? (() => performance.now()));
}

class EventsInMemory implements MemoryEventLog {
  readonly #sessions = new Map<SessionId, SessionEvents>();
  readonly #bounds: EventLogBounds;
  readonly #now: () => number;
  #swept: number;
  #bytes = 0;

  constructor(bounds: EventLogBounds, now: () => number) {
    this.#bounds = bounds;
    this.#now = now;
    this.#swept = now();
  }

  get bytes(): number {
    return this.#bytes;
  }

  open(session: SessionId, stream: StreamId, requests?: readonly RequestId[]): Promise<EventId> {
    const known = this.#sessions.get(session)?.newest(stream);
    if (known !== undefined) return Promise.resolve(known);
    const opened = this.append(session, stream, undefined);
    this.#sessions.get(session)!.expect(stream, requests);
    return opened;
  }

  append(session: SessionId, stream: StreamId, message: Message | undefined): Promise<EventId> {
    const now = this.#now();
    // An idle session would keep expired events until it ends, so active sessions remove them.
    // Stryker disable next-line ConditionalExpression,EqualityOperator,ArithmeticOperator: has no visible effect
    if (now - this.#swept > this.#bounds.maxAge) {
      this.#swept = now;
      for (const events of this.#sessions.values()) this.#bytes -= events.expire(now);
    }
    let events = this.#sessions.get(session);
    if (!events) this.#sessions.set(session, (events = new SessionEvents(this.#bounds)));
    const before = events.bytes;
    const id = events.append(stream, message, now);
    this.#bytes += events.bytes - before;
    if (this.#bytes > this.#bounds.maxTotalBytes) this.#shrink();
    return Promise.resolve(id);
  }

  async end(session: SessionId, stream: StreamId, failure?: ErrorObject): Promise<void> {
    const events = this.#sessions.get(session);
    const unanswered = (failure && events?.unanswered(stream)) ?? [];
    const appended = unanswered.map((id) => this.append(session, stream, errorResponse(id, failure!)));
    events?.end(stream);
    await Promise.all(appended);
  }

  after(session: SessionId, id: EventId): AsyncIterable<LoggedEvent> {
    const found = this.#find(session, id);
    return found ? read(found.stream, found.n) : purged(id, undefined);
  }

  find(session: SessionId, id: EventId): Promise<FoundStream | undefined> {
    const { stream } = this.#find(session, id) ?? {};
    return Promise.resolve(stream && { stream: stream.id, ended: stream.ended });
  }

  unfinished(session: SessionId): Promise<readonly UnfinishedStream[]> {
    return Promise.resolve(this.#sessions.get(session)?.unfinished() ?? []);
  }

  drop(session: SessionId): Promise<void> {
    const events = this.#sessions.get(session);
    if (events) this.#bytes -= events.bytes;
    this.#sessions.delete(session);
    return Promise.resolve();
  }

  #find(session: SessionId, id: EventId): { stream: Stream; n: number } | undefined {
    const events = this.#sessions.get(session);
    if (!events) return undefined;
    this.#bytes -= events.expire(this.#now());
    return events.find(id);
  }

  /** Halves the largest sessions, so that not every new event needs this work. */
  #shrink(): void {
    const enough = this.#bounds.maxTotalBytes * 0.9;
    const largest = [...this.#sessions.values()].toSorted((a, b) => b.bytes - a.bytes);
    for (const events of largest) {
      // Stryker disable next-line EqualityOperator: one byte more or less does not matter
      if (this.#bytes <= enough) return;
      this.#bytes -= events.shrink(events.bytes / 2);
    }
  }
}

class SessionEvents {
  readonly #bounds: EventLogBounds;
  readonly #streams = new Map<StreamId, Stream>();
  /** Streams without events. The stream whose events were dropped first comes first. */
  #spent: Set<Stream> | undefined;
  #head: Node | undefined;
  #tail: Node | undefined;
  #bytes = 0;
  #count = 0;
  /**
   * The highest event number of any removed stream. A stream that returns under its old name continues from here, so no
   * id is issued twice.
   */
  #forgotten = 0;

  constructor(bounds: EventLogBounds) {
    this.#bounds = bounds;
  }

  append(id: StreamId, message: Message | undefined, now: number): EventId {
    let stream = this.#streams.get(id);
    if (!stream) {
      const last = this.#forgotten;
      const rest = { head: undefined, tail: undefined, requests: undefined, ended: false };
      stream = { id, first: last + 1, last, dropped: last, ...rest };
      this.#streams.set(id, stream);
    } else if (!stream.head) this.#spent!.delete(stream);

    const n = (stream.last += 1);
    const bytes = EVENT_BYTES + weightOf(message, this.#bounds.maxBytes);
    const node: Node = { stream, n, message, bytes, at: now, nextInSession: undefined, nextInStream: undefined };
    if (this.#tail) this.#tail.nextInSession = node;
    else this.#head = node;
    this.#tail = node;
    if (stream.tail) stream.tail.nextInStream = node;
    else stream.head = node;
    stream.tail = node;
    if (stream.requests && message && isResponse(message)) {
      stream.requests = stream.requests.filter((request) => request !== message.id);
      stream.ended ||= stream.requests.length === 0;
    }
    this.#bytes += bytes;
    this.#count += 1;

    while (this.#bytes > this.#bounds.maxBytes || this.#count > this.#bounds.maxEvents) this.#dropOldest();
    this.expire(now);
    return `${id}-${n}`;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The newest id of a stream, if it is still known. */
  newest(id: StreamId): EventId | undefined {
    const stream = this.#streams.get(id);
    return stream && `${id}-${stream.last}`;
  }

  expect(id: StreamId, requests: readonly RequestId[] | undefined): void {
    const stream = this.#streams.get(id);
    // Stryker disable next-line ConditionalExpression: a stream that was just opened is there
    if (stream) stream.requests = requests;
  }

  unanswered(id: StreamId): readonly RequestId[] {
    const { requests = [], ended } = this.#streams.get(id) ?? {};
    return ended ? [] : requests;
  }

  end(id: StreamId): void {
    const stream = this.#streams.get(id);
    if (!stream) return;
    stream.ended = true;
    if (!stream.head) this.#forget(stream);
  }

  unfinished(): UnfinishedStream[] {
    const unfinished: UnfinishedStream[] = [];
    for (const { id, requests, ended } of this.#streams.values())
      if (requests && !ended) unfinished.push({ stream: id, requests });
    return unfinished;
  }

  /** The stream and number of an issued id, if the stream is still known. */
  find(id: EventId): { stream: Stream; n: number } | undefined {
    const dash = id.lastIndexOf('-');
    const stream = this.#streams.get(id.slice(0, dash));
    const n = Number(id.slice(dash + 1));
    // The comparison refuses an id without a dash, and other spellings of the number: '01', '1e0', '+1'.
    if (!stream || `${stream.id}-${n}` !== id || !Number.isInteger(n) || n < stream.first || n > stream.last)
      return undefined;
    return { stream, n };
  }

  /** Drops expired events. Returns their size in bytes. */
  expire(now: number): number {
    const before = this.#bytes;
    while (this.#head && now - this.#head.at > this.#bounds.maxAge) this.#dropOldest();
    return before - this.#bytes;
  }

  /** Drops the oldest events until at most this many bytes remain. Returns how many bytes were dropped. */
  shrink(bytes: number): number {
    const before = this.#bytes;
    // Stryker disable next-line EqualityOperator: one byte more or less does not matter
    while (this.#head && this.#bytes > bytes) this.#dropOldest();
    return before - this.#bytes;
  }

  #dropOldest(): void {
    const node = this.#head!;
    const { stream } = node;
    this.#head = node.nextInSession;
    if (!this.#head) this.#tail = undefined;
    stream.head = node.nextInStream;
    stream.dropped = node.n;
    this.#bytes -= node.bytes;
    this.#count -= 1;
    if (stream.head) return;
    stream.tail = undefined;
    // Nobody can resume it: what a client has not got is lost.
    if (stream.ended) return this.#forget(stream);
    this.#spent ??= new Set();
    this.#spent.add(stream);
    const [oldest] = this.#spent;
    if (this.#spent.size > MAX_SPENT_STREAMS) this.#forget(oldest!);
  }

  #forget(stream: Stream): void {
    this.#spent?.delete(stream);
    this.#streams.delete(stream.id);
    this.#forgotten = Math.max(this.#forgotten, stream.last);
  }
}

function read(stream: Stream, n: number): AsyncIterable<LoggedEvent> {
  if (n < stream.dropped) return purged(`${stream.id}-${n}`, `${stream.id}-${stream.dropped}`);
  let node = stream.head;
  while (node && node.n <= n) node = node.nextInStream;
  return nodes(node, stream.last);
}

/** Later events are appended to the same list, so stop at `last`. */
async function* nodes(node: Node | undefined, last: number): AsyncGenerator<LoggedEvent> {
  for (; node && node.n <= last; node = node.nextInStream) {
    yield { id: `${node.stream.id}-${node.n}`, message: node.message };
  }
}

/** Throws at the first step, as a remote store would. */
// oxlint-disable-next-line require-yield -- an iteration that only throws
async function* purged(id: EventId, until: EventId | undefined): AsyncGenerator<LoggedEvent> {
  throw new EventsPurged(id, until);
}
