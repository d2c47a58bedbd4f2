import { errorResponse, isResponse, type Message, type Response } from '../../jsonrpc/message.ts';
import type { HttpCall, HttpHeaders } from './call.ts';
import type { EventStream } from './event-stream.ts';
import type { GraceLine, Waiting } from './grace.ts';
import { TAKEN } from '../transport.ts';
import { JSON_HEADERS, REFUSED } from './refusals.ts';
import { encode } from '../../jsonrpc/stringify.ts';

/** What a reply needs of the session that it belongs to. */
export interface ReplyOwner {
  /** Where replies wait for their responses before they become streams. */
  readonly grace: GraceLine;
  /** Opens a stream and connects the call to it. */
  openReplyStream(reply: Reply): EventStream;
}

/**
 * The answer to one POST that carries requests. It is plain JSON where the responses come first and soon, and a stream
 * where something else comes before them, or nothing comes for a while. (2025-11-25, transports: Sending Messages, 5
 * leaves the choice to the server.)
 */
export class Reply implements Waiting {
  readonly call: HttpCall;
  /** Sent with the answer; may be added to until it begins. */
  headers: HttpHeaders = JSON_HEADERS;
  stream: EventStream | undefined;
  readonly due: number;
  before: Waiting | undefined = undefined;
  after: Waiting | undefined = undefined;
  readonly #owner: ReplyOwner;
  /** Requests that have no response yet. */
  #open: number;
  /** The responses so far, where the requests came as a batch and so are answered by one. */
  readonly #batch: Response[] | undefined;

  /**
   * @param open how many requests the POST held.
   * @param batch what of a batch is already known to be answered; undefined where it was a single request.
   */
  constructor(owner: ReplyOwner, call: HttpCall, open: number, batch: Response[] | undefined) {
    this.#owner = owner;
    this.call = call;
    this.#open = open;
    this.#batch = batch;
    this.due = owner.grace.due();
    owner.grace.join(this);
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
    const body = encode(message);
    if (this.#batch) {
      this.#batch.push(message);
      if (this.#open === 1) this.#respondBatch(this.#batch);
      this.#close();
    } else {
      this.#close();
      this.call.respond(200, this.headers, body);
    }
    return TAKEN;
  }

  /** One request was cancelled, so no response to it will come. */
  abandon(): void {
    if (!this.stream && this.#open === 1) {
      if (this.#batch?.length) this.#respondBatch(this.#batch);
      else this.#begin();
    }
    this.#close();
  }

  /** Ends the connection for the client to come back, see `EventStream.pause`. */
  pause(retry: number): void {
    this.#begin().pause(retry);
  }

  /** The session is over, and closes its streams; a call that has had no answer yet gets this one. */
  end(status: number, message: string): void {
    this.#owner.grace.leave(this);
    if (this.stream) return;
    this.call.respond(status, JSON_HEADERS, JSON.stringify(errorResponse(undefined, { code: REFUSED, message })));
  }

  #respondBatch(responses: Response[]): void {
    this.call.respond(200, this.headers, JSON.stringify(responses));
  }

  #begin(): EventStream {
    if (!this.stream) {
      this.#owner.grace.leave(this);
      this.stream = this.#owner.openReplyStream(this);
      for (const response of this.#batch ?? []) this.stream.send(response).catch(() => {});
    }
    return this.stream;
  }

  #close(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#owner.grace.leave(this);
    this.stream?.end();
  }
}
