import { allInTurns } from '../../../../base/all-in-turns.ts';
import type { StreamId } from '../../../../store/event-log.ts';
import { EventStream, type EventStreamOptions } from './event-stream.ts';

/** The most ended streams of which the log could not be told that they have ended. Beyond it the oldest are forgotten. */
const MAX_ENDING = 256;

/**
 * The streams of a session that go on or are read, by id. One that has ended is forgotten as soon as nobody reads it: a
 * client that resumes it reads the log.
 */
export class KeptStreams {
  readonly #streams = new Map<StreamId, EventStream>();
  /** Those that have ended and nobody reads, but the log does not know it yet. */
  readonly #ending = new Set<EventStream>();

  /** Whether the client reads any stream. */
  get isRead(): boolean {
    for (const stream of this.#streams.values()) if (stream.isRead) return true;
    return false;
  }

  get(id: StreamId): EventStream | undefined {
    return this.#streams.get(id);
  }

  open(options: Omit<EventStreamOptions, 'onended'>): EventStream {
    const { id } = options;
    const stream = new EventStream({ ...options, onended: () => this.#onended(stream) });
    this.#streams.set(id, stream);
    return stream;
  }

  /** Resolves when all streams have written everything. A session may have 10,000. */
  async close(): Promise<void> {
    await allInTurns(this.#streams.values(), (stream) => stream.close());
  }

  #onended(stream: EventStream): void {
    if (stream.done) {
      this.#ending.delete(stream);
      if (this.#streams.get(stream.id) === stream) this.#streams.delete(stream.id);
    } else if (!stream.connected) {
      this.#ending.add(stream);
      const [oldest] = this.#ending;
      if (this.#ending.size > MAX_ENDING) oldest!.giveUp();
    }
  }
}
