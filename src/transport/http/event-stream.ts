import { isResponse, type Message } from '../../jsonrpc/message.ts';
import { EventsPurged, type EventId, type EventLog, type SessionId, type StreamId } from '../../store/event-log.ts';
import type { SseConnection } from './connection.ts';
import { messageEvent, primingEvent, retryField } from './sse.ts';
import { stringify } from '../../jsonrpc/stringify.ts';

interface Unsent {
  readonly id: EventId;
  readonly json: string;
  readonly connection: SseConnection;
}

export interface EventStreamOptions {
  readonly log: EventLog;
  readonly session: SessionId;
  readonly id: StreamId;
  /** Whether a connection begins with an event that has an id and no data, so that it can be resumed from the start. */
  readonly priming: boolean;
  readonly onerror: (error: Error) => void;
}

/**
 * A stream of events that outlives its connections. Every message goes to the log first. A connection that keeps up is
 * written to directly; one that is slow, or that resumes, reads the log until it has caught up. So a slow reader costs
 * no memory but the log's, which is bounded: where its place was dropped from the log, it goes on behind the gap. The
 * responses are kept until they are out, so they reach a reader that is there whatever the log dropped.
 */
export class EventStream {
  readonly id: StreamId;
  readonly #options: EventStreamOptions;
  /** The last event of the stream; the first one is the priming event, which every stream has in the log. */
  #last: EventId | undefined;
  /** The last event that went out on a connection. */
  #sent: EventId | undefined;
  /** Appends, and all that must not happen between two of them, one after the other. */
  #tail: Promise<void>;
  /** Newest last; each message goes to the newest only (2025-11-25, transports: Multiple Connections, 2). */
  readonly #connections: SseConnection[] = [];
  /** The newest connection, once it has nothing left to read from the log. */
  #live: SseConnection | undefined;
  /** Responses that the newest connection has not got yet. They are counted for that connection. */
  #unsent: Unsent[] = [];
  /** Counts the readings of the log: a new one ends the one before. */
  #turn = 0;
  #ended = false;

  constructor(options: EventStreamOptions) {
    this.id = options.id;
    this.#options = options;
    this.#tail = options.log
      .append(options.session, options.id, undefined)
      .then((id) => {
        this.#last = this.#sent = id;
      })
      .catch(options.onerror);
  }

  get connected(): boolean {
    return this.#connections.length > 0;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Resolves when the message is in the log and the connection, if any, can take more.
   *
   * @throws at once where the message cannot be written as JSON.
   */
  send(message: Message): Promise<void> {
    const { log, session, id: stream, onerror } = this.#options;
    const json = stringify(message);
    const sent = this.#tail.then(async () => {
      // A session that has ended is gone from the log, and must not come back to it.
      if (this.#ended) return;
      const id = await log.append(session, stream, message);
      this.#last = id;
      if (!this.#live) {
        if (isResponse(message)) this.#keepResponse(id, json);
        return;
      }
      this.#live.write(messageEvent(json, id));
      this.#sent = id;
      if (this.#live.full) this.#follow(this.#live, id);
    });
    this.#tail = sent.catch(onerror);
    return sent.then(() => this.#connections.at(-1)?.drained());
  }

  /** No more messages will come: connections end when they have had all there is. */
  end(): void {
    this.#tail = this.#tail.then(() => {
      this.#ended = true;
      // One that still reads the log ends when it is through.
      this.#live?.end();
    });
  }

  /**
   * Gives the stream a connection, which takes over from any other.
   *
   * @param after the event to resume after; without one it begins with what no connection has had yet.
   * @param limit of connections at a time; beyond it the oldest is closed.
   */
  attach(connection: SseConnection, after: EventId | undefined, limit: number): void {
    this.#live = undefined;
    this.#connections.push(connection);
    if (this.#connections.length > limit) this.#connections[0]!.end();
    this.#tail = this.#tail.then(() => {
      const from = after ?? this.#sent;
      if (from === undefined || connection.closed) return connection.end();
      if (this.#options.priming && after === undefined) connection.write(primingEvent(from));
      this.#follow(connection, from);
    });
  }

  /** To be called when a connection is gone. */
  detach(connection: SseConnection): void {
    const index = this.#connections.indexOf(connection);
    if (index < 0) return;
    const newest = index === this.#connections.length - 1;
    this.#connections.splice(index, 1);
    if (!this.connected) this.#letGo(() => true);
    if (!newest) return;
    this.#live = undefined;
    const next = this.#connections.at(-1);
    if (next && this.#sent !== undefined) this.#follow(next, this.#sent);
  }

  /**
   * Ends connections and tells the clients when to come back; the stream goes on (2025-11-25, transports: Sending
   * Messages, 6).
   *
   * @param only the connection to end; all where there is none.
   */
  pause(retry: number, only?: SseConnection): void {
    const connections = only ? [only] : [...this.#connections];
    // In turn, so that each has had an event id to come back with.
    this.#tail = this.#tail.then(() => {
      for (const connection of connections) {
        connection.write(retryField(retry));
        connection.end();
      }
    });
  }

  /** Ends the stream and its connections. What was sent before is written; a reader that is behind loses the rest. */
  close(): Promise<void> {
    this.#tail = this.#tail.then(() => {
      this.#ended = true;
      for (const connection of [...this.#connections]) connection.end();
    });
    return this.#tail;
  }

  /** Lets a connection read the log from `from` until it has caught up; then it is live. */
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
    while (current()) {
      if (connection.full) {
        await connection.drained();
      } else if (place === this.#last) {
        this.#writeUnsent(connection);
        if (this.#ended) connection.end();
        else if (connection.full) continue;
        else this.#live = connection;
        return;
      } else {
        const next = await this.#readOn(connection, place, current);
        // The log may show an event before it has told its writer the id.
        if (next === place) await this.#tail;
        place = next;
      }
    }
  }

  /** Writes what the log has after `place`, as far as the connection takes it. Returns the new place. */
  async #readOn(connection: SseConnection, place: EventId, current: () => boolean): Promise<EventId> {
    const { log, session, onerror } = this.#options;
    try {
      for await (const { id, message } of log.after(session, place)) {
        if (!current()) return place;
        this.#letGo((response) => response.id === id);
        if (message) connection.write(messageEvent(stringify(message), id));
        this.#sent = place = id;
        if (connection.full) break;
      }
      return place;
    } catch (error) {
      if (!(error instanceof EventsPurged)) throw error;
      // Who asks for a place that is gone is told; who is only slow goes on behind the gap.
      onerror(error);
      const { until = this.#last ?? place } = error;
      return (this.#sent = until);
    }
  }

  #keepResponse(id: EventId, json: string): void {
    const connection = this.#connections.at(-1);
    if (!connection) return;
    this.#unsent.push({ id, json, connection });
    connection.keep(json.length);
  }

  /** Drops some of these responses. */
  #letGo(which: (response: Unsent) => boolean): void {
    const gone = this.#unsent.filter(which);
    if (gone.length === 0) return;
    this.#unsent = this.#unsent.filter((response) => !which(response));
    for (const { connection, json } of gone) connection.keep(-json.length);
  }

  #writeUnsent(connection: SseConnection): void {
    const unsent = this.#unsent;
    this.#letGo(() => true);
    for (const { id, json } of unsent) connection.write(messageEvent(json, id));
  }
}
