import { inTurns } from '../../../../base/in-turns.ts';
import type { StreamId } from '../../../../store/event-log.ts';
import { EventStream, type EventStreamOptions } from './event-stream.ts';

/** The most ended streams that stay resumable. Beyond this the oldest are forgotten. */
const MAX_ENDED = 64;
/** The most streams if the log cannot be told that they have ended. */
const MAX_ENDING = 256;

/** The streams of a session by id, for resumption. Few of those that have ended are kept. */
export class KeptStreams {
  readonly #streams = new Map<StreamId, EventStream>();

  /** Whether any stream has a connection. */
  get connected(): boolean {
    for (const stream of this.#streams.values()) if (stream.connected) return true;
    return false;
  }

  get(id: StreamId): EventStream | undefined {
    return this.#streams.get(id);
  }

  open(options: EventStreamOptions): EventStream {
    for (const [old, { done }] of this.#streams) {
      if (this.#streams.size <= MAX_ENDED) break;
      if (done) this.#streams.delete(old);
    }
    for (const [old, ending] of this.#streams) {
      if (this.#streams.size <= MAX_ENDING) break;
      if (!ending.ended || ending.connected) continue;
      ending.giveUp();
      this.#streams.delete(old);
    }
    const stream = new EventStream(options);
    this.#streams.set(options.id, stream);
    return stream;
  }

  /** Resolves when all streams have written everything. A session may have 10,000. */
  async close(): Promise<void> {
    const closed: Promise<void>[] = [];
    await inTurns(this.#streams.values(), (stream) => void closed.push(stream.close()));
    await Promise.all(closed);
  }
}
