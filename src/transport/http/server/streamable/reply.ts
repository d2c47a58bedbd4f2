import { inTurns } from '../../../../base/in-turns.ts';
import { errorResponse, isResponse, type Message, type RequestId, type Response } from '../../../../jsonrpc/message.ts';
import { Grace } from '../grace.ts';
import type { HttpCall, HttpHeaders } from '../call.ts';
import type { EventStream } from './event-stream.ts';
import { SENT_AT_ONCE } from '../../../transport.ts';
import { JSON_HEADERS, REFUSED, respondWith } from '../access/refusal-format.ts';
import { encode, encodeBatch } from '../../../../jsonrpc/stringify.ts';

const UNDONE = 'The server has ended this before it was done; it may have been done in part';

/** What a reply needs from its session. */
export interface ReplyOwner {
  /** Milliseconds after which a reply becomes a stream. */
  readonly grace: number;
  /** Opens a stream and connects the call to it. */
  openReplyStream(reply: Reply): EventStream;
}

/**
 * The response to one POST with requests. It is plain JSON if the responses come first and soon. It becomes a stream if
 * another message comes first, or if nothing comes for a while (2025-11-25, transports: Sending Messages, 5 leaves the
 * choice to the server).
 */
export class Reply {
  readonly call: HttpCall;
  /** Sent with the response. May be changed until it begins. */
  headers: HttpHeaders = JSON_HEADERS;
  stream: EventStream | undefined;
  /** Begins the stream if the responses do not come soon. */
  readonly #grace: Grace;
  readonly #owner: ReplyOwner;
  readonly #requests: RequestId | readonly RequestId[];
  /** The number of requests without a response. */
  #open: number;
  /** The responses so far, if the requests came as a batch and get one response. */
  readonly #batch: Response[] | undefined;

  /**
   * @param requests the id of the request in the POST, or the ids of a batch.
   * @param batch responses of a batch that are already known. Undefined for a single request.
   */
  constructor(
    owner: ReplyOwner,
    call: HttpCall,
    requests: RequestId | readonly RequestId[],
    batch: Response[] | undefined,
  ) {
    this.#owner = owner;
    this.call = call;
    this.#requests = requests;
    this.#open = typeof requests === 'object' ? requests.length : 1;
    this.#batch = batch;
    const begin = (): void => void this.#begin();
    this.#grace = new Grace(owner.grace, begin);
  }

  /** The ids of the requests in the POST. */
  get requests(): readonly RequestId[] {
    return typeof this.#requests === 'object' ? this.#requests : [this.#requests];
  }

  /**
   * Sends a message that belongs to one of the requests.
   *
   * @param status of the response to a single request, if it is not a stream yet. Default 200.
   */
  send(message: Message, status = 200): Promise<void> {
    if (!isResponse(message)) return this.#begin().send(message);
    if (this.stream) {
      const sent = this.stream.send(message);
      this.#close();
      return sent;
    }
    // If the message cannot be written as JSON, fail here, while the request can still get another response.
    const body = encode(message);
    if (this.#batch) {
      this.#batch.push(message);
      if (this.#open === 1) this.#respondBatch(this.#batch);
      this.#close();
    } else {
      this.#close();
      respondWith(this.call, status, this.headers, body);
    }
    return SENT_AT_ONCE;
  }

  /** One request was cancelled, so it gets no response. */
  abandon(): void {
    if (!this.stream && this.#open === 1) {
      if (this.#batch?.length) this.#respondBatch(this.#batch);
      else this.#begin();
    }
    this.#close();
  }

  /** Ends the connection so that the client reconnects. See `EventStream.pause`. */
  pause(retry: number): void {
    this.#begin().pause(retry);
  }

  /**
   * Fails a request for a client that reads its stream. Without a response, many would wait until their timeout.
   *
   * @param kept whether the stream can be read at other processes, and later.
   */
  fail(id: RequestId, message: string, kept: boolean): void {
    if (!kept && !this.stream?.connected) return;
    this.stream?.send(errorResponse(id, { code: REFUSED, message })).catch(() => {});
    this.#close();
  }

  /** The session has ended and closes its streams. A call that has no response yet gets this error. */
  end(status: number, message: string): void {
    this.#grace.end();
    if (this.stream) return;
    this.call.respond(status, JSON_HEADERS, JSON.stringify(errorResponse(undefined, { code: REFUSED, message })));
  }

  #respondBatch(responses: Response[]): void {
    this.call.respond(200, this.headers, encodeBatch(responses));
  }

  #begin(): EventStream {
    if (!this.stream) {
      this.#grace.end();
      this.stream = this.#owner.openReplyStream(this);
      for (const response of this.#batch ?? []) this.stream.send(response).catch(() => {});
    }
    return this.stream;
  }

  #close(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#grace.end();
    this.stream?.end();
  }
}

/**
 * Ends the replies of a session that has ended. It may have 10,000 calls.
 *
 * @param kept whether another process may continue the session.
 */
export async function endReplies(
  replies: readonly (readonly [RequestId, Reply])[],
  status: number,
  message: string,
  kept: boolean,
): Promise<void> {
  // A status 404 would say that the call did not run, and that the client needs a new session.
  const [refusal, why] = kept ? [503, UNDONE] : [status, message];
  await inTurns(new Set(replies.map(([, reply]) => reply)), (reply) => reply.end(refusal, why));
  await inTurns(replies, ([id, reply]) => reply.fail(id, why, kept));
}
