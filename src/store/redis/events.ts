import { createHash } from 'node:crypto';
import { checkBounds } from '../../base/bounds.ts';
import { isResponse, type ErrorObject, type Message, type RequestId } from '../../jsonrpc/message.ts';
import {
  EventsPurged,
  type EventId,
  type EventLog,
  type FoundStream,
  type LoggedEvent,
  type SessionId,
  type StreamId,
  type UnfinishedStream,
} from '../event-log.ts';
import type { MemoryEventLogOptions } from '../memory.ts';
import { finite, type Commands } from './commands.ts';
import { OpenRequests } from './open-requests.ts';
import { APPEND, DROP, END, FIND, READ, UNFINISHED } from './event-scripts.ts';

/** What each event takes besides its text, roughly. Bytes. */
const EVENT_BYTES = 128;
/** How many streams without events a session remembers, so that the newest id of a quiet stream stays valid. */
const MAX_SPENT_STREAMS = 1000;
/** How many events one call removes above the limits. */
const MOST_DROPPED = 2000;
/** How much longer keys are kept than their content is valid, so that scripts see what has expired. Milliseconds. */
export const SLACK = 60_000;

/** An event id: the stream, and the number of the event in its session. */
const ID = /^([0-9A-Za-z]+)-([1-9]\d{0,14})$/;

/** The name of a session in a key. The id itself may be the secret that its client uses. */
export function keyOfSession(session: SessionId): string {
  return createHash('sha256').update('everwire-redis').update(session).digest('base64url');
}

/** The events of streams in Redis. */
export class RedisEvents implements EventLog {
  readonly #commands: Commands;
  readonly #now: (() => number) | undefined;
  readonly #maxAge: number;
  readonly #open = new OpenRequests();
  /** The arguments of `APPEND` after the time. */
  readonly #bounds: readonly number[];

  /**
   * @param sessionAge how long a silent session is remembered, in milliseconds.
   * @throws RangeError if a limit is negative or not a number.
   */
  constructor(commands: Commands, options: MemoryEventLogOptions, sessionAge: number) {
    const {
      maxBytes = 4 * 1024 * 1024,
      maxTotalBytes = 256 * 1024 * 1024,
      maxEvents = 10_000,
      maxAge = 600_000,
      now,
    } = options;
    checkBounds({ maxBytes, maxTotalBytes, maxEvents, maxAge });
    this.#commands = commands;
    this.#now = now;
    this.#maxAge = finite(maxAge);
    const ttl = Math.ceil(maxAge) + SLACK;
    const bounds = [maxBytes, maxTotalBytes, maxEvents, maxAge, ttl, Math.max(ttl, Math.ceil(sessionAge) + SLACK)];
    this.#bounds = [...bounds.map(finite), MAX_SPENT_STREAMS, MOST_DROPPED];
  }

  open(session: SessionId, stream: StreamId, requests?: readonly RequestId[]): Promise<EventId> {
    if (requests) this.#open.open(session, stream, requests);
    return this.#append(session, stream, [undefined], 'open', requests).then(([id]) => id!);
  }

  async append(session: SessionId, stream: StreamId, message: Message | undefined): Promise<EventId> {
    const [id] = await this.appendAll(session, stream, [message]);
    return id!;
  }

  async appendAll(
    session: SessionId,
    stream: StreamId,
    messages: readonly (Message | undefined)[],
  ): Promise<readonly EventId[]> {
    const ids = await this.#append(session, stream, messages, 'append', this.#open.of(session, stream));
    const last = messages.at(-1);
    if (last && isResponse(last)) this.#open.answered(session, stream, last.id);
    return ids;
  }

  async end(session: SessionId, stream: StreamId, failure?: ErrorObject): Promise<void> {
    const about = [keyOfSession(session), stream];
    if (!failure) await this.#commands.run(END, ...about);
    else await this.#change([...about, 'fail', JSON.stringify(failure), EVENT_BYTES, '', '']);
    this.#open.end(session, stream);
  }

  async *after(session: SessionId, id: EventId): AsyncGenerator<LoggedEvent> {
    const [, stream, number] = ID.exec(id) ?? [];
    if (stream === undefined) throw new EventsPurged(id, undefined);
    const after = Number(number);
    let place = after;
    let last = 0;
    for (let from = place + 1; from > 0;) {
      const found = await this.#find(READ, session, stream, after, from, last);
      // The session may have been dropped meanwhile. What was read is right.
      if (!found && place !== after) return;
      if (!found) throw new EventsPurged(id, undefined);
      const [newest, next, ...events] = found;
      last ||= Number(newest);
      for (let at = 0; at < events.length; at += 3) {
        const n = Number(events[at]);
        const previous = Number(events[at + 1]);
        const text = events[at + 2]!;
        if (previous !== place) {
          // Events in between are lost. What came before them was read.
          if (place !== after) return;
          throw new EventsPurged(id, previous > place ? `${stream}-${previous}` : undefined);
        }
        place = n;
        yield { id: `${stream}-${n}`, message: text === '' ? undefined : this.#parse(text) };
      }
      // Numbers that only somebody else can have written may be too large to count on.
      from = Number(next) > from ? Number(next) : 0;
    }
    if (place < last && place === after) throw new EventsPurged(id, `${stream}-${last}`);
  }

  async find(session: SessionId, id: EventId): Promise<FoundStream | undefined> {
    const [, stream, number] = ID.exec(id) ?? [];
    if (stream === undefined) return undefined;
    const found = await this.#find(FIND, session, stream, Number(number));
    return found && { stream, ended: Number(found[1]) === 1 };
  }

  async unfinished(session: SessionId): Promise<readonly UnfinishedStream[]> {
    const reply = (await this.#commands.run(UNFINISHED, keyOfSession(session))) as string[];
    const unfinished: UnfinishedStream[] = [];
    for (let at = 0; at < reply.length; at += 2) {
      const requests = JSON.parse(reply[at + 1]!) as string[];
      unfinished.push({ stream: reply[at]!, requests: requests.map((id) => JSON.parse(id) as RequestId) });
    }
    return unfinished;
  }

  async drop(session: SessionId): Promise<void> {
    this.#open.drop(session);
    await this.#commands.run(DROP, keyOfSession(session));
  }

  #parse(text: string): Message {
    return this.#commands.parse(text, this.#bounds[0]!) as Message;
  }

  async #append(
    session: SessionId,
    stream: StreamId,
    messages: readonly (Message | undefined)[],
    mode: 'open' | 'append',
    requests?: readonly RequestId[],
  ): Promise<EventId[]> {
    const expected = requests ? JSON.stringify(requests.map((id) => JSON.stringify(id))) : '';
    const [first, ...rest] = messages.map((message) => this.#event(message));
    const about = [keyOfSession(session), stream];
    const last = await this.#change([...about, mode, ...first!, expected], rest.flat());
    if (last === '-1') throw new Error('The stream has ended');
    return messages.map((_, index) => `${stream}-${Number(last) - (messages.length - 1 - index)}`);
  }

  /** What `APPEND` gets of an event: the text, the size, and the request that it answers. */
  #event(message: Message | undefined): (string | number)[] {
    const text = message === undefined ? '' : JSON.stringify(message);
    const bytes = EVENT_BYTES + Buffer.byteLength(text);
    const answered = message && isResponse(message) ? JSON.stringify(message.id) : '';
    // What is not stored need not be sent.
    return [bytes <= this.#bounds[0]! ? text : '', bytes, answered];
  }

  /** Runs `APPEND`. */
  async #change(what: readonly (string | number)[], more: readonly (string | number)[] = []): Promise<string> {
    return (await this.#commands.run(APPEND, ...what, this.#time(), ...this.#bounds, ...more)) as string;
  }

  async #find(
    script: typeof FIND,
    session: SessionId,
    stream: StreamId,
    n: number,
    ...rest: number[]
  ): Promise<string[] | undefined> {
    const about = [keyOfSession(session), stream, n, this.#time(), this.#maxAge];
    const reply = (await this.#commands.run(script, ...about, ...rest)) as string[];
    return reply.length > 0 ? reply : undefined;
  }

  /** The clock of Redis decides, unless there is another one. */
  #time(): string {
    return this.#now ? String(Math.round(this.#now())) : '';
  }
}
