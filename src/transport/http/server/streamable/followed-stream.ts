import { Deferred } from '../../../../base/deferred.ts';
import type { EventId } from '../../../../store/event-log.ts';
import type { SseConnection } from '../connection.ts';
import { messageEvent, primingEvent, retryField } from '../sse.ts';
import { copyEvents, type Place } from './copy-events.ts';
import type { FollowEnd, FollowingReader } from './following.ts';

/** How a connection reads a stream of another process. */
interface FollowedStreamParts extends Place {
  readonly connection: SseConnection;
  /** How long the client is told to wait before it asks again. Milliseconds. */
  readonly retry: number;
  /** Whether the client knows events without data. Clients forget the last id if a response has none. */
  readonly primes: boolean;
  /** Gets the new events until there are no more. See `Following.follow`. */
  readonly follow: (reader: FollowingReader) => Promise<FollowEnd>;
  /** Whether the stream has ended in the log, or ends now because its process has ended. */
  readonly hasEnded: (last: EventId) => Promise<boolean>;
  readonly onerror: (error: Error) => void;
}

/**
 * The stream of a call that runs at another process, as a client reads it here. An event that the other process passes on is
 * written at once if it follows the last one. In all other cases the log is read: at the beginning, if events were left out or
 * came in another order, if the client is slow, and at the end. So memory is needed only for what the connection has not sent.
 */
export class FollowedStream implements FollowingReader {
  readonly #parts: FollowedStreamParts;
  /** The last event that was written. */
  #last: EventId;
  /** Whether everything that is known to be in the log was written. */
  #isLive = false;
  /** Whether the log has something that was not written. */
  #hasNews = false;
  /** Set when the other process passes nothing on any more. */
  #end: FollowEnd | undefined;
  #wake = new Deferred();

  constructor(parts: FollowedStreamParts) {
    this.#parts = parts;
    this.#last = parts.after;
  }

  take(before: EventId, id: EventId, json: string | undefined): void {
    if (id === this.#last) return;
    const { connection } = this.#parts;
    if (this.#isLive && before === this.#last && json !== undefined && !connection.full) {
      connection.write(messageEvent(json, id), true);
      this.#last = id;
    } else {
      this.#hasNews = true;
      this.#wake.resolve();
    }
  }

  /** Writes the stream until it ends, or the connection does. @throws (rejects) as `copyEvents`. */
  async write(): Promise<void> {
    const { connection, primes } = this.#parts;
    if (primes) connection.write(primingEvent(this.#last));
    void this.#follow();
    try {
      while (!connection.closed) {
        const end = this.#end;
        this.#hasNews = false;
        this.#last = await copyEvents({ ...this.#parts, after: this.#last }, connection);
        if (end) return this.#finish(end);
        this.#isLive = true;
        while (!this.#hasNews && !this.#end && !connection.closed) await this.#news();
        this.#isLive = false;
      }
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  /** The client should ask again, when it has got what is known to be in the log. */
  pause(): void {
    this.#end ??= 'paused';
    this.#wake.resolve();
  }

  /** The connection is gone. */
  close(): void {
    this.#wake.resolve();
  }

  async #news(): Promise<void> {
    await this.#wake.promise;
    this.#wake = new Deferred();
  }

  async #follow(): Promise<void> {
    const { connection, follow, onerror, hasEnded } = this.#parts;
    let end: FollowEnd = 'missed';
    try {
      while (end === 'missed' && !connection.closed) end = await follow(this).catch(() => 'paused' as const);
      // The other process may be gone, or have forgotten the stream because it has ended.
      if (end === 'paused' && !connection.closed && (await hasEnded(this.#last))) end = 'ended';
    } catch (error) {
      onerror(error as Error);
    }
    this.#end ??= end;
    this.#wake.resolve();
  }

  #finish(end: FollowEnd): void {
    const { connection, retry } = this.#parts;
    if (end === 'taken') return connection.cutShort();
    if (end !== 'ended') connection.write(retryField(retry));
    connection.end();
  }
}
