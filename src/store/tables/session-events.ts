import type { Message, RequestId } from '../../jsonrpc/message.ts';
import type { EventId, EventLogBounds, SessionId, StreamId, UnfinishedStream } from '../event-log.ts';
import { keyOf, NUMBER_DIGITS, type Table } from './table.ts';

/** What each event takes besides its text: the keys and the pages of the file, roughly. Bytes. */
const EVENT_BYTES = 128;
/** How many streams without events a session remembers, so that the newest id of a quiet stream stays valid. */
const MAX_SPENT_STREAMS = 1000;

/** An event as it is stored. */
interface StoredEvent {
  readonly n: number;
  readonly stream: StreamId;
  /** The number of the previous event of its stream. A reader that has read up to there has missed nothing. */
  readonly previous: number;
  readonly at: number;
  /** The bytes of all events of the session so far, also of those that were dropped. */
  readonly total: number;
  readonly message: Message | undefined;
  readonly bytes: number;
}

type StoredText = [stream: StreamId, previous: number, at: number, total: number, bytes: number, message?: Message];

/** What is stored of a stream besides its events. */
interface StoredStream {
  readonly first: number;
  readonly ended: boolean;
  readonly requests?: readonly RequestId[] | undefined;
  /** Set if no event is left. */
  readonly last?: number | undefined;
}

interface Stream {
  readonly id: StreamId;
  readonly first: number;
  last: number;
  /** Events up to this one were dropped. */
  dropped: number;
  requests: readonly RequestId[] | undefined;
  ended: boolean;
  /** Whether an event is being written. */
  writing: boolean;
}

export interface NewEvent {
  readonly stream: StreamId;
  readonly message: Message | undefined;
  /** The request that the message answers. */
  readonly answered: RequestId | undefined;
  /** Given with the first event of a stream. */
  readonly requests: readonly RequestId[] | undefined;
  readonly now: number;
}

/** The events of one session in tables. What is known of its streams is read when it is first needed. */
export class SessionEvents {
  readonly #prefix: string;
  readonly #end: string;
  readonly #events: Table;
  readonly #table: Table;
  readonly #bounds: EventLogBounds;
  #known: Map<StreamId, Stream> | undefined;
  /** What the log has counted of `bytes`. */
  counted = 0;
  /** The streams that go on without an event that is left, the oldest first. */
  readonly #spent = new Set<Stream>();
  /** The oldest event. Undefined if there is none. */
  #oldest: StoredEvent | undefined;
  /** The number of the newest event, and the bytes of all events so far. */
  #newest = { n: 0, total: 0 };
  /** The same without events that are being written. */
  #stored = { n: 0, total: 0 };
  #inFlight = 0;
  /** Events that are being written, in the order of their numbers. */
  readonly #pending = new Map<number, StoredEvent>();

  constructor(session: SessionId, events: Table, streams: Table, bounds: EventLogBounds) {
    this.#prefix = `${keyOf(session)}/`;
    this.#end = SessionEvents.endOf(session);
    this.#events = events;
    this.#table = streams;
    this.#bounds = bounds;
    const [newest] = this.#page(1, Infinity, 1, true);
    if (newest) this.#newest = newest;
    this.#stored = this.#newest;
    this.#findOldest(1);
  }

  /** The session that a key belongs to. */
  static sessionOf(key: string): SessionId {
    return decodeURIComponent(key.slice(0, key.indexOf('/')));
  }

  /** Comes after all keys of a session. A zero follows the slash. */
  static endOf(session: SessionId): string {
    return `${keyOf(session)}0`;
  }

  get bytes(): number {
    return this.#oldest ? this.#newest.total - this.#oldest.total + this.#oldest.bytes : 0;
  }

  newest(id: StreamId): EventId | undefined {
    const stream = this.#streams.get(id);
    return stream && `${id}-${stream.last}`;
  }

  /** Counts at once, and resolves when the event is stored. */
  append({ stream: id, message, answered, requests, now }: NewEvent): Promise<EventId> {
    const streams = this.#streams;
    let stream = streams.get(id);
    const n = this.#newest.n + 1;
    const isNew = stream === undefined;
    if (!stream) {
      stream = { id, first: n, last: n - 1, dropped: n - 1, requests, ended: false, writing: false };
      streams.set(id, stream);
    }
    const before = { requests: stream.requests, ended: stream.ended };
    const answers = answered !== undefined && stream.requests?.includes(answered);
    if (answers) {
      stream.requests = stream.requests!.filter((request) => request !== answered);
      stream.ended ||= stream.requests.length === 0;
    }
    const writes: Promise<void>[] = [];
    const content = message === undefined ? undefined : JSON.stringify(message);
    const bytes = EVENT_BYTES + Buffer.byteLength(content ?? '');
    const { maxBytes, maxEvents } = this.#bounds;
    const isStored = bytes <= Math.min(maxBytes, this.#events.maxTextBytes) && maxEvents >= 1;
    this.#newest = { n, total: this.#newest.total + (isStored ? bytes : 0) };
    const newest = this.#newest;
    this.#inFlight += 1;
    stream.writing = true;
    if (isStored) {
      const event: StoredEvent = {
        stream: id,
        previous: stream.last,
        at: now,
        ...this.#newest,
        bytes,
        message: undefined,
      };
      this.#pending.set(n, event);
      writes.push(this.#events.write(this.#key(n), textOf(event, content)));
      this.#oldest ??= event;
    }
    if (isNew || answers || !isStored) writes.push(this.#writeStream(stream, isStored ? undefined : n));
    const dropped = this.#dropWhile(
      ({ n: oldest, at: age }) =>
        this.bytes > this.#bounds.maxBytes ||
        n - oldest + 1 > this.#bounds.maxEvents ||
        now - age > this.#bounds.maxAge,
      n - 1,
      Infinity,
    );
    writes.push(...dropped);
    const undo = (): void => {
      if (isNew) streams.delete(id);
      else Object.assign(stream, before);
    };
    return this.#written(writes, stream, { ...newest, isStored }, undo);
  }

  unanswered(id: StreamId): readonly RequestId[] {
    const { requests = [], ended = true } = this.#streams.get(id) ?? {};
    return ended ? [] : requests;
  }

  async end(id: StreamId): Promise<void> {
    const stream = this.#streams.get(id);
    if (!stream || stream.ended) return;
    stream.ended = true;
    try {
      await this.#writeStream(stream);
    } catch (error) {
      stream.ended = false;
      throw error;
    }
  }

  /** The stream and number of an issued id, and the newest number of the stream now. */
  find(id: EventId): { stream: Stream; n: number; last: number } | undefined {
    const dash = id.lastIndexOf('-');
    const stream = this.#streams.get(id.slice(0, dash));
    const n = Number(id.slice(dash + 1));
    // The comparison refuses an id without a dash, and other spellings of the number: '01', '1e0', '+1'.
    if (!stream || `${stream.id}-${n}` !== id || !Number.isInteger(n) || n < stream.first || n > stream.last)
      return undefined;
    if (n > stream.dropped && n < stream.last && this.#page(n, n, 1)[0]?.stream !== stream.id) return undefined;
    return { stream, n, last: stream.last };
  }

  unfinished(): UnfinishedStream[] {
    const unfinished: UnfinishedStream[] = [];
    for (const { id, requests, ended } of this.#streams.values())
      if (requests && !ended) unfinished.push({ stream: id, requests });
    return unfinished;
  }

  /** Some events in the order of their numbers: up to `limit`, or up to the one with which they have `text` characters. */
  page(from: number, to: number, limit: number, text: number): StoredEvent[] {
    return this.#page(from, to, limit, false, text);
  }

  /** Drops expired events, but not more than this many. Returns how many. */
  expire(now: number, most: number): number {
    if (!this.#oldest || now - this.#oldest.at <= this.#bounds.maxAge) return 0;
    const dropped = this.#dropWhile(({ at }) => now - at > this.#bounds.maxAge, Infinity, most);
    ignoreFailures(dropped);
    return dropped.length;
  }

  /** Drops the oldest events until at most this many bytes remain, but not more than this many. Returns how many. */
  shrink(bytes: number, most: number): number {
    // Nothing would say that the numbers of events that are being written were used.
    const [pending = Infinity] = this.#pending.keys();
    const dropped = this.#dropWhile(() => this.bytes > bytes, pending - 1, most);
    ignoreFailures(dropped);
    return dropped.length;
  }

  /** Removes everything, in portions. */
  async clear(): Promise<void> {
    for (const table of [this.#events, this.#table]) {
      for (;;) {
        const keys = [...table.keys({ start: this.#prefix, end: this.#end, limit: 1000 })];
        if (keys.length === 0) break;
        await Promise.all(keys.map((key) => table.remove(key)));
      }
    }
  }

  get #streams(): Map<StreamId, Stream> {
    return (this.#known ??= this.#load());
  }

  #load(): Map<StreamId, Stream> {
    const streams = new Map<StreamId, Stream>();
    for (const [key, text] of this.#table.range({ start: this.#prefix, end: this.#end })) {
      const id = key.slice(this.#prefix.length);
      const { first, ended, requests, last = first - 1 } = JSON.parse(text) as StoredStream;
      streams.set(id, { id, first, last, dropped: last, requests, ended, writing: false });
      if (last > this.#newest.n) this.#stored = this.#newest = { ...this.#newest, n: last };
    }
    const begun = new Set<Stream>();
    for (const [key, text] of this.#events.range({ start: this.#prefix, end: this.#end })) {
      const { n, stream: id, previous } = this.#parsed(key, text);
      let stream = streams.get(id);
      if (!stream) {
        stream = { id, first: n, last: n, dropped: previous, requests: undefined, ended: true, writing: false };
        streams.set(id, stream);
      }
      if (!begun.has(stream)) stream.dropped = Math.max(previous, stream.first - 1);
      begun.add(stream);
      stream.last = n;
    }
    const spent = [...streams.values()].filter(({ dropped, last, ended }) => dropped >= last && !ended);
    for (const stream of spent.toSorted((a, b) => a.last - b.last)) this.#spent.add(stream);
    return streams;
  }

  /** Drops events from the oldest on. Returns the writes. */
  #dropWhile(isOver: (oldest: StoredEvent) => boolean, until: number, most: number): Promise<void>[] {
    const writes: Promise<void>[] = [];
    while (this.#oldest && this.#oldest.n <= until && writes.length < most && isOver(this.#oldest)) {
      const { n, stream: id } = this.#oldest;
      writes.push(this.#events.remove(this.#key(n)));
      const stream = this.#streams.get(id);
      if (stream) {
        stream.dropped = Math.max(stream.dropped, n);
        if (stream.dropped >= stream.last && !stream.writing) writes.push(this.#spend(stream));
      }
      this.#findOldest(n + 1);
    }
    return writes;
  }

  /** No event of a stream is left. */
  #spend(stream: Stream): Promise<void> {
    if (stream.ended) return this.#forget(stream);
    this.#spent.add(stream);
    const [oldest] = this.#spent;
    if (this.#spent.size > MAX_SPENT_STREAMS) void this.#forget(oldest!).catch(() => {});
    return this.#writeStream(stream);
  }

  #forget(stream: Stream): Promise<void> {
    this.#spent.delete(stream);
    this.#streams.delete(stream.id);
    return this.#table.remove(this.#prefix + stream.id);
  }

  #findOldest(from: number): void {
    const [stored] = this.#page(from, Infinity, 1);
    let pending: StoredEvent | undefined;
    for (const event of this.#pending.values()) {
      if (event.n < from) continue;
      pending = event;
      break;
    }
    this.#oldest = stored && (!pending || stored.n <= pending.n) ? stored : pending;
  }

  /** Events in the order of their numbers, or in reverse, maybe without those that are being written. */
  #page(from: number, to: number, limit: number, reverse = false, most = Infinity): StoredEvent[] {
    const start = this.#key(from);
    const end = to === Infinity ? this.#end : this.#key(to + 1);
    const events: StoredEvent[] = [];
    let length = 0;
    for (const [key, text] of this.#events.range({ start, end, reverse, limit })) {
      events.push(this.#parsed(key, text));
      length += text.length;
      if (length >= most) break;
    }
    return events;
  }

  #parsed(key: string, text: string): StoredEvent {
    const [stream, previous, at, total, bytes, message] = JSON.parse(text) as StoredText;
    return { n: Number(key.slice(this.#prefix.length)), stream, previous, at, total, bytes, message };
  }

  #key(n: number): string {
    return this.#prefix + String(n).padStart(NUMBER_DIGITS, '0');
  }

  /** @param newest the number of an event that is not stored itself. */
  #writeStream({ id, first, last, dropped, requests, ended }: Stream, newest?: number): Promise<void> {
    const stored: StoredStream = { first, ended, requests, last: newest ?? (dropped >= last ? last : undefined) };
    return this.#table.write(this.#prefix + id, JSON.stringify(stored));
  }

  /** If the event could not be stored, the stream goes on after the one before. */
  async #written(
    writes: Promise<void>[],
    stream: Stream,
    { n, total, isStored }: { readonly n: number; readonly total: number; readonly isStored: boolean },
    undo: () => void,
  ): Promise<EventId> {
    try {
      await Promise.all(writes);
      this.#stored = { n, total };
      this.#pending.delete(n);
    } catch (error) {
      this.#pending.delete(n);
      // Others may have failed with it. Nobody knows their numbers.
      if (this.#inFlight === 1) this.#newest = this.#stored;
      if (this.#oldest?.n === n) this.#findOldest(n + 1);
      undo();
      throw error;
    } finally {
      this.#inFlight -= 1;
      stream.writing = false;
    }
    stream.last = n;
    if (isStored) this.#spent.delete(stream);
    else stream.dropped = n;
    return `${stream.id}-${n}`;
  }
}

function textOf({ stream, previous, at, total, bytes }: StoredEvent, message: string | undefined): string {
  const head = JSON.stringify([stream, previous, at, total, bytes]);
  return message === undefined ? head : `${head.slice(0, -1)},${message}]`;
}

/** What could not be dropped now is dropped after the next start. */
function ignoreFailures(writes: readonly Promise<void>[]): void {
  for (const write of writes) write.catch(() => {});
}
