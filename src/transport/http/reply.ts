import { errorResponse, isResponse, type Message, type RequestId, type Response } from '../../jsonrpc/message.ts';
import type { HttpCall, HttpHeaders } from './call.ts';
import type { EventStream } from './event-stream.ts';
import type { GraceLine, Waiting } from './grace.ts';

const JSON_HEADERS: HttpHeaders = { 'content-type': 'application/json' };

export interface ReplyOptions {
  readonly call: HttpCall;
  /** The requests of the POST body, in their order. */
  readonly ids: readonly RequestId[];
  /** Whether they came as a batch, and so are answered by one. */
  readonly batch: boolean;
  /** What is already known to be answered. */
  readonly responses: Response[];
  /** Where the reply waits for its responses before it becomes a stream. */
  readonly grace: GraceLine;
  /** Opens the stream and connects the call to it. */
  readonly open: (reply: Reply) => EventStream;
}

/**
 * The answer to one POST that carries requests. It is plain JSON where the responses come first and soon, and a stream
 * where something else comes before them, or nothing comes for a while. (2025-11-25, transports: Sending Messages, 5
 * leaves the choice to the server.)
 */
export class Reply implements Waiting {
  readonly options: ReplyOptions;
  /** Sent with the answer; may be added to until it begins. */
  headers: HttpHeaders = JSON_HEADERS;
  stream: EventStream | undefined;
  #open: number;
  readonly #responses: Response[];
  readonly due: number;
  before: Waiting | undefined;
  after: Waiting | undefined;

  constructor(options: ReplyOptions) {
    this.options = options;
    this.#open = options.ids.length;
    this.#responses = options.responses;
    this.due = options.grace.due();
    options.grace.join(this);
  }

  /** The responses did not come soon. */
  expire(): void {
    this.#begin();
  }

  /** A message that belongs to one of the requests. */
  send(message: Message): Promise<void> {
    if (!isResponse(message)) return this.#begin().send(message);
    if (this.stream) {
      const sent = this.stream.send(message);
      this.#close();
      return sent;
    }
    // What cannot be written as JSON must fail here, while the request can still be answered otherwise.
    const text = JSON.stringify(message);
    if (!this.options.batch) {
      this.#close();
      this.options.call.respond(200, this.headers, text);
    } else {
      this.#responses.push(message);
      if (this.#open === 1) this.#respondBatch();
      this.#close();
    }
    return Promise.resolve();
  }

  /** One request was cancelled, so no response to it will come. */
  abandon(): void {
    if (!this.stream && this.#open === 1) {
      if (this.#responses.length > 0) this.#respondBatch();
      else this.#begin();
    }
    this.#close();
  }

  /** The session is over; a call that has had no answer yet gets this one. */
  end(status: number, message: string): void {
    this.options.grace.leave(this);
    if (this.stream) this.stream.close();
    else this.options.call.respond(status, JSON_HEADERS, JSON.stringify(errorResponse(undefined, { code: -32000, message })));
  }

  #respondBatch(): void {
    this.options.call.respond(200, this.headers, JSON.stringify(this.#responses));
  }

  #begin(): EventStream {
    if (!this.stream) {
      this.options.grace.leave(this);
      this.stream = this.options.open(this);
      for (const response of this.#responses) this.stream.send(response).catch(() => {});
    }
    return this.stream;
  }

  #close(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    this.options.grace.leave(this);
    this.stream?.end();
  }
}
