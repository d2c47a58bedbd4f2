import type { Response } from '../../../../jsonrpc/message.ts';
import { hasConstantResult } from '../../../../jsonrpc/stringify.ts';
import type { EventId } from '../../../../store/event-log.ts';
import type { SseConnection } from '../connection.ts';
import { messageEvent } from '../sse.ts';

/** What a response takes whose text is that of a constant result: 176 bytes, as measured, and its place in lists. */
const CONSTANT_BYTES = 256;

interface Unsent {
  /** Undefined if the log could not store it. */
  readonly id: EventId | undefined;
  readonly json: string;
  readonly connection: SseConnection;
  /** What is counted for the connection. */
  readonly bytes: number;
}

/** Responses that the newest connection of a stream has not received. Their memory is counted for that connection. */
export class UnsentResponses {
  #responses: Unsent[] = [];
  /** The last event that the reader got from the log. It may be there before the log has returned its id. */
  #read: EventId | undefined;

  get size(): number {
    return this.#responses.length;
  }

  /** @param json the response as JSON. */
  keep(connection: SseConnection, id: EventId | undefined, response: Response, json: string): void {
    if (id !== undefined && id === this.#read) return;
    const bytes = hasConstantResult(response) ? CONSTANT_BYTES : json.length;
    this.#responses.push({ id, json, connection, bytes });
    connection.keep(bytes);
  }

  /** The reader got the event with this id from the log, so it is not kept. */
  letGo(id: EventId): void {
    this.#read = id;
    this.#remove((response) => response.id === id);
  }

  letAllGo(): void {
    this.#remove(() => true);
  }

  /** Writes and removes the first ones, until this much is written. Returns how much that is. */
  write(connection: SseConnection, most: number): number {
    let length = 0;
    while (length < most && !connection.full) {
      const first = this.#responses.shift();
      if (!first) break;
      first.connection.keep(-first.bytes);
      length += first.json.length;
      connection.write(messageEvent(first.json, first.id));
    }
    return length;
  }

  #remove(which: (response: Unsent) => boolean): void {
    const gone = this.#responses.filter(which);
    if (gone.length === 0) return;
    this.#responses = this.#responses.filter((response) => !which(response));
    for (const { connection, bytes } of gone) connection.keep(-bytes);
  }
}
