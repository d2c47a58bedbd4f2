import { SLICE } from '../../../../base/read-turns.ts';
import { quoting } from '../../../../base/short-text.ts';
import { ErrorCode, RpcError } from '../../../../jsonrpc/errors.ts';
import {
  isRequest,
  isResponse,
  type ErrorObject,
  type Message,
  type Notification,
  type Request,
  type RequestId,
} from '../../../../jsonrpc/message.ts';
import {
  EventsPurged,
  type EventId,
  type EventLog,
  type SessionId,
  type StreamId,
} from '../../../../store/event-log.ts';
import type { SseConnection } from '../connection.ts';
import { messageEvent, primingEvent, retryField } from '../sse.ts';
import { hasConstantResult, stringify } from '../../../../jsonrpc/stringify.ts';
import { Appends } from './appends.ts';
import type { FollowEnd, Follower } from './following.ts';
import { UnsentResponses } from './unsent-responses.ts';
import { unstored, UNSTORED_FULL } from './unstored.ts';

/** The most connections to one stream. Beyond it, the oldest is closed. */
const MAX_CONNECTIONS = 8;
/** The first pause before the log is told once more that a stream has ended. Each one is twice as long. Milliseconds. */
const END_PAUSE = 1000;
/** The longest pause. After it, 17 minutes have passed, and few logs keep events for so long. Milliseconds. */
const MAX_END_PAUSE = 512_000;
/** The error of a request whose response is not in the log, for those who read the stream there. */
const UNSTORED: ErrorObject = {
  code: ErrorCode.InternalError,
  message: 'The request was done, but its response could not be stored, so it is lost',
};

export interface EventStreamOptions {
  readonly log: EventLog;
  readonly session: SessionId;
  readonly id: StreamId;
  /** The requests whose responses the stream will have. Undefined for the session's own stream. */
  readonly requests: readonly RequestId[] | undefined;
  /** Whether another process has written the stream and it has ended, so that it can only be read. */
  readonly ended: boolean;
  /** Whether each connection first gets an event with an id and no data, so that it can be resumed from the start. */
  readonly priming: boolean;
  /** Runs a read of the log, or a large write, when its turn comes. See `ReadTurns`. */
  readonly whenItsTurn: (read: () => Promise<number>) => Promise<void>;
  /** Called when the stream has ended, when its last connection is gone after that, and when it is done. */
  readonly onended: () => void;
  /**
   * Set if other processes may write the stream, too, which is open in the log. Its first connection begins after this event.
   */
  readonly start?: EventId | undefined;
  readonly onerror: (error: Error) => void;
}

/**
 * A stream of events that outlives its connections. Every message goes to the log first. A fast connection is written
 * to directly. A slow or resuming connection reads the log until it has caught up, so a slow reader needs no memory
 * except the log, which is limited. If its position was dropped from the log, it continues after the gap. Responses are
 * kept until they are sent, so a connected reader gets them even if the log has dropped them.
 */
export class EventStream {
  readonly id: StreamId;
  readonly #options: EventStreamOptions;
  /** The last event of the stream. The first is the priming event, which every stream has in the log. */
  #last: EventId | undefined;
  /** The last event that was sent on a connection. */
  #sent: EventId | undefined;
  /** The queue of appends, and of everything that must not run during an append. */
  #tail: Promise<void>;
  readonly #appends: Appends;
  /** Resolves when all long lists that waited for their turns are written. Undefined if there was none. Never rejects. */
  #listsWritten: Promise<unknown> | undefined;
  /** Newest last. Each message goes only to the newest (2025-11-25, transports: Multiple Connections, 2). */
  readonly #connections: SseConnection[] = [];
  /** The newest connection, once it has read everything in the log. */
  #live: SseConnection | undefined;
  /** The newest connection that resumes, until it has read everything in the log. */
  #resuming: SseConnection | undefined;
  readonly #unsent = new UnsentResponses();
  /** Counts the reads of the log. A new read ends the previous one. */
  #turn = 0;
  #ended = false;
  #closed = false;
  /** Counts what may have come into the log, if other processes write the stream, too. */
  #news = 0;
  /** The newest message of this process, until its live connection has read it in the log. */
  #newest: { readonly id: EventId; readonly json: string } | undefined;
  /** How many of its requests have no response in the log, which ends the stream with the last one. Undefined: it does not. */
  #unanswered: number | undefined;
  /** Whether the log could not store a response. */
  #isIncomplete = false;
  #endsInLog = false;
  /** Another process, where the client reads the stream. */
  #follower: Follower | undefined;

  constructor(options: EventStreamOptions) {
    this.id = options.id;
    this.#options = options;
    this.#ended = options.ended;
    this.#sent = options.start;
    this.#appends = new Appends(options.log, options.session, options.id);
    if (this.#isShared) this.#tail = Promise.resolve();
    else
      this.#tail = options.log
        .open(options.session, options.id, options.requests)
        .then((id) => {
          this.#last = this.#sent = id;
          this.#unanswered = options.requests?.length;
        })
        .catch(options.onerror);
  }

  get connected(): boolean {
    return this.#connections.length > 0;
  }

  /** Whether the client reads the stream, here or at another process. */
  get isRead(): boolean {
    return this.connected || this.#follower !== undefined;
  }

  /** Whether other processes may write the stream, too. Then connections get everything from the log, in its order. */
  get #isShared(): boolean {
    return this.#options.start !== undefined;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the log will have an error for a response that it could not store. Only clients that were connected got it. */
  get failsLater(): boolean {
    return this.#isIncomplete && this.#endsInLog;
  }

  /** Whether the stream can be forgotten: nobody reads it, and it has ended, in the log too. */
  get done(): boolean {
    return this.#ended && !this.#endsInLog && !this.connected;
  }

  /**
   * Resolves when the message is in the log and the connection, if any, can take more.
   *
   * @throws at once if the message cannot be written as JSON.
   */
  send(message: Message): Promise<void> {
    // The work of a response is done, so it is never dropped.
    if (unstored.isFull && !isResponse(message)) return this.#drop(message);
    const json = stringify(message);
    const { length } = json;
    if (length > SLICE && hasConstantResult(message)) return this.#writeInTurn(message, json);
    const written = this.#write(message, json).then(() => this.#letSenderGoOn(length));
    return isRequest(message) ? written.catch((cause: unknown) => notStored(message, cause)) : written;
  }

  /**
   * For what very many requests may get at once: the same long list. Anything else is written before its sender waits for
   * a turn, because memory is counted only then.
   */
  async #writeInTurn(message: Message, json: string): Promise<void> {
    const written = this.#takeTurn(json.length).then(() => this.#write(message, json));
    const before = this.#listsWritten;
    this.#listsWritten = written.catch(() => {}).then(() => before);
    await written;
    await this.#connections.at(-1)?.sent();
  }

  #write(message: Message, json: string): Promise<void> {
    const { length } = json;
    unstored.add(length);
    const append = this.#appends.add(message, length);
    const sent = this.#tail.then(async () => {
      // The log has removed a session that ended. Do not add to it again.
      if (this.#ended) return unstored.add(-length);
      const before = this.#last;
      const id = await this.#stored(append, message, length);
      if (id !== undefined) this.#follower?.event(before ?? id, id, json);
      if (this.#isShared) {
        this.#newest = this.#live && id !== undefined ? { id, json } : undefined;
        return this.readOn();
      }
      if (!this.#live) {
        const connection = this.#connections.at(-1);
        if (connection && isResponse(message)) this.#unsent.keep(connection, id, message, json);
        return;
      }
      this.#live.write(messageEvent(json, id), isRequest(message));
      this.#sent = id ?? this.#sent;
      if (this.#live.full && this.#sent !== undefined) this.#follow(this.#live, this.#sent);
    });
    this.#tail = sent.catch(this.#options.onerror);
    return sent;
  }

  /** Nothing more can wait until the log has stored others. */
  async #drop(message: Notification | Request): Promise<void> {
    if (!isRequest(message)) return unstored.tellFull(this.#options.onerror);
    throw new RpcError(ErrorCode.InternalError, quoting`${message.method} was not sent: ${UNSTORED_FULL}`);
  }

  /** Knows only the length, so what waits here keeps no message in memory. */
  async #letSenderGoOn(length: number): Promise<void> {
    if (length > SLICE) await this.#takeTurn(length);
    await this.#connections.at(-1)?.sent();
  }

  #takeTurn(length: number): Promise<void> {
    return this.#options.whenItsTurn(() => Promise.resolve(length));
  }

  /** Other processes may have written events. */
  readOn(): void {
    this.#news += 1;
    if (this.#live && this.#sent !== undefined) this.#follow(this.#live, this.#sent);
  }

  /** The next connection begins after this event, unless it resumes after another one. */
  startAfter(id: EventId): void {
    void this.#afterAppends(() => void (this.#sent = id));
  }

  /** Ends the connections. The client goes on reading at another process. Returns the last event that was sent. */
  async stop(retry: number): Promise<EventId | undefined> {
    this.pause(retry);
    await this.#tail;
    return this.#sent;
  }

  /** A response that cannot be stored is still sent, because the work is done. Returns undefined for it. */
  async #stored(append: () => Promise<EventId>, message: Message, length: number): Promise<EventId | undefined> {
    const { onerror } = this.#options;
    try {
      this.#last = await append();
      if (isResponse(message) && this.#unanswered !== undefined) this.#unanswered -= 1;
      return this.#last;
    } catch (error) {
      // While the log cannot be reached, each attempt may fail at once, after the message was written as JSON.
      if (length > SLICE) await this.#takeTurn(length);
      if (!isResponse(message)) throw error;
      this.#isIncomplete = true;
      onerror(error as Error);
      return undefined;
    } finally {
      unstored.add(-length);
    }
  }

  /** No more messages will come. Each connection ends when it has received everything. */
  end(): void {
    void this.#afterAll(() => {
      this.#ended = true;
      // A connection that still reads the log ends when it has read everything.
      this.#live?.end();
      void this.#endInLog();
    });
  }

  /** Until the log knows that the stream has ended, clients that read it there would ask for more. */
  async #endInLog(): Promise<void> {
    const { log, session, id, onerror } = this.#options;
    this.#endsInLog = this.#unanswered !== 0;
    this.#options.onended();
    if (!this.#endsInLog) return this.giveUp();
    let pause = END_PAUSE;
    do {
      try {
        await log.end(session, id, this.#isIncomplete ? UNSTORED : undefined);
        break;
      } catch (error) {
        if (pause === END_PAUSE) onerror(error as Error);
        const ms = pause;
        await new Promise((resolve) => void setTimeout(resolve, ms).unref?.());
        pause *= 2;
      }
    } while (this.#endsInLog && !this.#closed && pause <= MAX_END_PAUSE);
    this.giveUp();
  }

  /** Tells the log no more that the stream has ended. */
  giveUp(): void {
    this.#endsInLog = false;
    this.#stopFollower('ended');
    if (this.done) this.#options.onended();
  }

  /**
   * Adds a connection, which becomes the one that messages go to.
   *
   * @param after the event to resume after. Without it, the connection begins with the first event that no connection
   * has received.
   */
  attach(connection: SseConnection, after: EventId | undefined): void {
    this.#stopFollower('taken');
    this.#live = undefined;
    if (after !== undefined) {
      // It would never get the rest: each message goes only to the newest connection.
      this.#resuming?.cutShort();
      this.#resuming = connection;
    }
    this.#connections.push(connection);
    if (this.#connections.length > MAX_CONNECTIONS) this.#connections[0]!.end();
    void this.#afterAppends(() => {
      const from = after ?? this.#sent;
      if (connection.closed) return connection.end();
      // The log could not open the stream. Responses are sent nevertheless.
      if (from === undefined) return this.#options.requests ? void (this.#live = connection) : connection.end();
      if (this.#options.priming && after === undefined) connection.write(primingEvent(from));
      this.#follow(connection, from);
    });
  }

  /**
   * Passes new events on to another process, where the client reads the stream now: each message goes only to the newest
   * reader. Returns a function that ends this.
   */
  follow(follower: Follower): () => void {
    this.#stopFollower('taken');
    for (const connection of [...this.#connections]) connection.cutShort();
    this.#follower = follower;
    if (this.#ended && !this.#endsInLog) this.#stopFollower(this.#closed ? 'paused' : 'ended');
    // What is in the log already may not have been there when the other process read it.
    void this.#afterAppends(() => {
      if (this.#last !== undefined) follower.event(this.#last, this.#last);
    });
    return () => {
      if (this.#follower === follower) this.#follower = undefined;
    };
  }

  #stopFollower(end: FollowEnd): void {
    this.#follower?.stop(end);
    this.#follower = undefined;
  }

  /** Must be called when a connection is gone. */
  detach(connection: SseConnection): void {
    const index = this.#connections.indexOf(connection);
    if (index < 0) return;
    if (this.#resuming === connection) this.#resuming = undefined;
    const newest = index === this.#connections.length - 1;
    this.#connections.splice(index, 1);
    if (!this.connected) this.#unsent.letAllGo();
    if (this.#ended && !this.connected) this.#options.onended();
    if (!newest) return;
    this.#live = undefined;
    const next = this.#connections.at(-1);
    if (next && this.#sent !== undefined) this.#follow(next, this.#sent);
  }

  /**
   * Ends connections and tells the clients when to reconnect. The stream continues (2025-11-25, transports: Sending
   * Messages, 6).
   *
   * @param only the connection to end. Default: all.
   */
  pause(retry: number, only?: SseConnection): void {
    const connections = only ? [only] : [...this.#connections];
    // Queued, so that each connection has received an event id to reconnect with.
    void this.#afterAppends(() => {
      for (const connection of connections) {
        connection.write(retryField(retry));
        connection.end();
      }
      if (!only) this.#stopFollower('paused');
    });
  }

  /**
   * Ends the stream and its connections. Everything sent before is written to the log. A slow reader loses the rest.
   */
  close(): Promise<void> {
    this.#closed = true;
    return this.#afterAll(() => {
      this.#ended = true;
      for (const connection of [...this.#connections]) connection.end();
      if (!this.#endsInLog) this.#stopFollower('paused');
    });
  }

  async #afterAll(end: () => void): Promise<void> {
    if (this.#listsWritten) await this.#listsWritten;
    await this.#afterAppends(end);
  }

  /** Runs something between what was sent before and what is sent after it. */
  #afterAppends(work: () => void): Promise<void> {
    this.#appends.split();
    return (this.#tail = this.#tail.then(work));
  }

  /** Lets a connection read the log from `from` until it has caught up and is live. */
  #follow(connection: SseConnection, from: EventId): void {
    this.#live = undefined;
    this.#turn += 1;
    this.#read(connection, from).catch((error: unknown) => {
      this.#options.onerror(error as Error);
      connection.destroy();
    });
  }

  async #read(connection: SseConnection, from: EventId): Promise<void> {
    const turn = this.#turn;
    const current = (): boolean => !connection.closed && this.#turn === turn && this.#connections.at(-1) === connection;
    let place = from;
    // Whether nothing was found, and no append was in flight then.
    let isAtEnd = false;
    while (current()) {
      if (connection.full) {
        await connection.drained();
      } else if (!this.#isShared && place === this.#last) {
        if (this.#unsent.size > 0) {
          // A response that comes meanwhile may be in the log, too, where it is read first.
          const isNext = (): boolean => current() && place === this.#last;
          await this.#options.whenItsTurn(async () => (isNext() ? this.#unsent.write(connection, SLICE) : 0));
          continue;
        }
        if (this.#ended) connection.end();
        else if (connection.full) continue;
        else this.#live = connection;
        if (this.#resuming === connection) this.#resuming = undefined;
        return;
      } else {
        isAtEnd ||= this.#ended;
        const news = this.#news;
        const next = await this.#readOn(connection, place, current);
        // Others have ended the stream in the log, and the client has read what they have added.
        if (next === place && isAtEnd && current()) return connection.end();
        if (this.#isShared && next === place) {
          if (news !== this.#news || connection.full || !current()) continue;
          this.#sent = place;
          this.#live = connection;
          this.#newest = undefined;
          if (this.#resuming === connection) this.#resuming = undefined;
          return;
        }
        // The log may deliver an event before `append` has returned its id.
        if (next === place) await this.#tail;
        isAtEnd = next === place;
        place = next;
      }
    }
  }

  /** Writes the next events after `place` from the log. Returns the new position. */
  async #readOn(connection: SseConnection, place: EventId, current: () => boolean): Promise<EventId> {
    const { log, session, whenItsTurn, onerror } = this.#options;
    let last = place;
    const read = async (): Promise<number> => {
      let length = 0;
      for await (const { id, message } of log.after(session, place)) {
        if (!current()) break;
        this.#unsent.letGo(id);
        if (message) {
          const event = messageEvent(stringify(message), id);
          length += event.length;
          connection.write(event, isRequest(message));
        }
        this.#sent = last = id;
        // What follows is for those who read the log only.
        if (connection.full || length >= SLICE || (this.#ended && id === this.#last)) break;
      }
      return length;
    };
    try {
      await whenItsTurn(read);
      return last;
    } catch (error) {
      if (!(error instanceof EventsPurged)) throw error;
      // A client that asks for a dropped position gets an error. A slow reader continues after the gap.
      onerror(error);
      if (this.#isShared && error.until === undefined) return (this.#sent = await this.#goOnAfterLoss(connection));
      const { until = this.#last ?? place } = error;
      return (this.#sent = until);
    }
  }

  /** The log has lost what it had. Its new events have other ids. Returns the event from which to go on. */
  async #goOnAfterLoss(connection: SseConnection): Promise<EventId> {
    const { log, session, id } = this.#options;
    const newest = this.#newest;
    if (!newest) return log.open(session, id);
    this.#newest = undefined;
    connection.write(messageEvent(newest.json, newest.id));
    return newest.id;
  }
}

/** Whoever asks may tell the client why that failed. What the store has said is only for the log. */
function notStored({ method }: Request, cause: unknown): never {
  throw new RpcError(ErrorCode.InternalError, quoting`${method} was not sent: it could not be stored`, { cause });
}
