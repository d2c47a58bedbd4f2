import type { FewPerTurn } from '../base/few-per-turn.ts';
import { inTurns } from '../base/in-turns.ts';
import { shortJson } from '../base/short-text.ts';
import { RpcError, ErrorCode } from '../jsonrpc/errors.ts';
import { IdTable } from '../jsonrpc/id-table.ts';
import {
  errorResponse,
  type ErrorObject,
  type Notification,
  type Request,
  type RequestId,
  type Response,
} from '../jsonrpc/message.ts';
import { SENT_AT_ONCE, type ReplyChannel, type Transport } from '../transport/transport.ts';
import type { TotalLoad } from './total-load.ts';

/** The most requests in flight. A closed connection may leave many of them, because closing cancels none. */
const MAX_REQUESTS = 10_000;
/** The most bytes of these requests, with the large answers to their questions. */
const MAX_BYTES = 64 * 1024 * 1024;
/** What each request takes besides its message: 7.6 KB over Streamable HTTP, as measured. Counted for all connections. */
const REQUEST_BYTES = 8 * 1024;

/** The requests of one connection that are not answered yet, of both eras: limited in number and in bytes. */
export class RequestsInFlight {
  readonly #transport: Transport;
  readonly #total: TotalLoad;
  readonly #ends: FewPerTurn;
  readonly #onerror: (error: Error) => void;
  readonly #requests = new IdTable<RequestId, RequestInFlight>();
  #bytes = 0;
  /** Called when no request is in flight any more. */
  onidle: (() => void) | undefined;

  /**
   * @param total counts the requests of all connections of a service.
   * @param ends ends those that their clients no longer wait for, of all connections of a service.
   */
  constructor(transport: Transport, total: TotalLoad, ends: FewPerTurn, onerror: (error: Error) => void) {
    this.#transport = transport;
    this.#total = total;
    this.#ends = ends;
    this.#onerror = onerror;
  }

  get size(): number {
    return this.#requests.size;
  }

  values(): RequestInFlight[] {
    return this.#requests.values();
  }

  /** Accepts a request. If that is not possible, answers it with an error and returns undefined. */
  accept({ id }: Request, bytes = 0): RequestInFlight | undefined {
    const before = this.#requests.get(id);
    // The client would take an error with the id for the response to the first request, unless it has cancelled that.
    if (before) return this.#refuse(before.open ? undefined : id, `id ${shortJson(id)} is still in use`);
    if (this.#requests.size >= MAX_REQUESTS) {
      return this.#refuse(id, `More than ${MAX_REQUESTS} requests are in flight; wait until some of them are answered`);
    }
    // A single request may be larger than the limit.
    if (this.#bytes > 0 && this.#bytes + bytes > MAX_BYTES) {
      return this.#refuse(
        id,
        `More than ${MAX_BYTES} bytes of requests are in flight; wait until some of them are answered`,
      );
    }
    if (!this.#hasTotalRoom(bytes + REQUEST_BYTES)) {
      return this.#refuse(id, 'The requests in flight of all clients are too large together; try again later');
    }
    const request = new RequestInFlight(this.#transport, id, this.#ends, this.#onerror, () => this.#forget(request));
    this.#requests.set(id, request);
    this.#total.add(REQUEST_BYTES);
    this.#count(request, bytes);
    return request;
  }

  /** Counts an answer of the client towards the request that asked for it. Returns false if there is no room for it. */
  grow(request: RequestInFlight, bytes: number): boolean {
    if (!request.open) return true;
    if (this.#bytes + bytes > MAX_BYTES || !this.#hasTotalRoom(bytes)) return false;
    this.#count(request, bytes);
    return true;
  }

  /**
   * Counts the bytes of a request also after its end, as long as a question keeps it in memory.
   *
   * @returns a function to call when the question is no longer open.
   */
  keep(request: RequestInFlight): () => void {
    request.questions += 1;
    return () => {
      request.questions -= 1;
      this.#release(request);
    };
  }

  /** Cancels the request with this id. Returns whether there is one. */
  cancel(id: unknown, reason: unknown): boolean {
    const request = this.#requests.get(id as RequestId);
    request?.cancel(typeof reason === 'string' ? reason : undefined);
    return request !== undefined;
  }

  /** Cancels all requests and answers them with an error. Resolves when all are answered. */
  cancelAll(error: RpcError): Promise<void> {
    return inTurns(this.values(), (request) => {
      if (!request.open) return;
      const { onclose } = request;
      request.onclose = undefined;
      // Nothing that belongs to a request may follow its response.
      onclose?.(error.message);
      request.answer(errorResponse(request.id, error.toObject()));
    });
  }

  /** The connection has closed. */
  close(): void {
    for (const request of this.values()) request.end('the connection is closed');
  }

  /** Whether all connections together have room for this many bytes more. */
  #hasTotalRoom(bytes: number): boolean {
    return this.#total.hasRoom(bytes, this.#bytes + this.#requests.size * REQUEST_BYTES + bytes);
  }

  #count(request: RequestInFlight, bytes: number): void {
    request.bytes += bytes;
    this.#bytes += bytes;
    this.#total.add(bytes);
  }

  #forget(request: RequestInFlight): void {
    this.#requests.delete(request.id);
    this.#release(request);
    this.#total.add(-REQUEST_BYTES);
    if (this.#requests.size === 0) this.onidle?.();
  }

  #release(request: RequestInFlight): void {
    if (request.isOver && request.questions === 0) this.#count(request, -request.bytes);
  }

  #refuse(id: RequestId | undefined, why: string): undefined {
    const error = { code: ErrorCode.InvalidRequest, message: `Invalid request: ${why}` };
    this.#transport.send(errorResponse(id, error)).catch(this.#onerror);
  }
}

/** Sends the replies to a request that shares its connection with others. */
export class RequestInFlight implements ReplyChannel {
  onclose: ReplyChannel['onclose'];
  readonly id: RequestId;
  bytes = 0;
  /** The open questions that keep it in memory after its end. */
  questions = 0;
  /** False for `initialize`, which MUST NOT be cancelled (2025-11-25, basic/utilities/cancellation: Behavior Requirements). */
  cancellable = true;
  readonly #transport: Transport;
  readonly #ends: FewPerTurn;
  readonly #onerror: (error: Error) => void;
  /** Whether the caller no longer waits for it. It counts until it has ended. */
  #abandoned = false;
  #ondone: (() => void) | undefined;

  constructor(
    transport: Transport,
    id: RequestId,
    ends: FewPerTurn,
    onerror: (error: Error) => void,
    ondone: () => void,
  ) {
    this.#transport = transport;
    this.id = id;
    this.#ends = ends;
    this.#onerror = onerror;
    this.#ondone = ondone;
  }

  /** Whether the request is neither answered nor cancelled. */
  get open(): boolean {
    return this.#ondone !== undefined && !this.#abandoned;
  }

  /** Whether it has ended, and nothing is done for it any more. */
  get isOver(): boolean {
    return this.#ondone === undefined;
  }

  notify(message: Notification): Promise<void> {
    const sent = this.#transport.send(message, { relatedRequestId: this.id });
    if (sent !== SENT_AT_ONCE) sent.catch(this.#onerror);
    return sent;
  }

  answer(response: Response, status?: number): void {
    this.#done();
    this.onclose = undefined;
    if (this.#abandoned) return;
    const sent = this.#transport.send(response, status === undefined ? undefined : { status });
    if (sent === SENT_AT_ONCE) return;
    // The promise waits for a slow reader. It must not hold the response, because only the response's text is counted.
    const { id } = response;
    const failure = 'error' in response ? codeAndMessage(response.error) : undefined;
    const shortest = 'error' in response && response.error.data === undefined;
    sent.catch((thrown: unknown) => {
      this.#onerror(thrown as Error);
      // The result, or the data of the error, cannot be written as JSON. The caller still needs a response.
      if (!shortest) this.answer(errorResponse(id, failure ?? codeAndMessage(RpcError.from(thrown))));
    });
  }

  /** A cancelled request is not answered (basic/utilities/cancellation: Behavior Requirements). */
  cancel(reason?: string): void {
    if (this.cancellable) this.end(reason);
  }

  /**
   * Ends the request without a response, because the caller no longer waits for it. One client may end thousands at once,
   * and much follows from each, so only a few end in one turn of the event loop.
   */
  end(reason?: string): void {
    if (!this.open) return;
    this.#abandoned = true;
    this.#ends.run(() => {
      const { onclose } = this;
      this.onclose = undefined;
      this.#done();
      onclose?.(reason);
    });
  }

  /** Runs once. If a response cannot be written, a second one follows, but the request ended with the first. */
  #done(): void {
    const ondone = this.#ondone;
    this.#ondone = undefined;
    ondone?.();
  }
}

function codeAndMessage({ code, message }: ErrorObject): ErrorObject {
  return { code, message };
}
