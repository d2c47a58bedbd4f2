import { SLICE } from '../../../../base/read-turns.ts';
import { isResponse, type Message } from '../../../../jsonrpc/message.ts';
import type { EventId, EventLog, SessionId, StreamId } from '../../../../store/event-log.ts';

/** The most messages that are appended together, so that a log that others share is not busy for long. */
const MAX_TOGETHER = 100;

/** Messages that are appended together. */
interface Batch {
  readonly messages: Message[];
  /** Of their texts. */
  length: number;
  /** Set once they are appended. */
  ids?: Promise<readonly EventId[]>;
}

/**
 * Appends the messages of one stream to the log. If the log can, it gets those that have come during an append together:
 * otherwise, a stream could have only one message in each round trip.
 */
export class Appends {
  readonly #log: EventLog;
  readonly #session: SessionId;
  readonly #stream: StreamId;
  /** Takes the next message. */
  #open: Batch | undefined;

  constructor(log: EventLog, session: SessionId, stream: StreamId) {
    this.#log = log;
    this.#session = session;
    this.#stream = stream;
  }

  /**
   * @param length of its text.
   * @returns a function that appends the message, and those that were added with it, and resolves with its id. Must be called in
   * the order of the messages.
   */
  add(message: Message, length: number): () => Promise<EventId> {
    const log = this.#log;
    if (!log.appendAll) return () => log.append(this.#session, this.#stream, message);
    const full = this.#open && (this.#open.length + length > SLICE || this.#open.messages.length >= MAX_TOGETHER);
    if (full) this.#open = undefined;
    const batch = (this.#open ??= { messages: [], length: 0 });
    const index = batch.messages.push(message) - 1;
    batch.length += length;
    // The stream may end with it.
    if (isResponse(message)) this.#open = undefined;
    return () => this.#appended(batch).then((ids) => ids[index]!);
  }

  /** What is added from now on is not appended with what was added before. */
  split(): void {
    this.#open = undefined;
  }

  #appended(batch: Batch): Promise<readonly EventId[]> {
    if (this.#open === batch) this.#open = undefined;
    return (batch.ids ??= this.#log.appendAll!(this.#session, this.#stream, batch.messages.splice(0)));
  }
}
