import {
  isResponse,
  request as rpcRequest,
  errorResponse,
  type Message,
  type RequestId,
  type Response,
} from '../../../jsonrpc/message.ts';
import { IdTable } from '../../../jsonrpc/id-table.ts';
import { checkMessage, InvalidMessage, parseJson } from '../../../jsonrpc/parse.ts';
import type { CarriedRequest, CarriedResponse, Carrier } from '../../carrier.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Endpoint, IDLE_TIMEOUT, isType, MAX_MESSAGE_BYTES, type HttpClientOptions } from './endpoint.ts';
import { AnswerLost, HttpStatusError, shown, statusError } from './errors.ts';
import { readEvents } from './event-stream.ts';
import type { HttpReply } from './http.ts';

export interface HttpCarrierOptions extends HttpClientOptions {
  /** Receives errors that cannot be reported to a caller. Default: none. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
} as const;
/**
 * How long a server may take to end a stream after the response, in milliseconds. Its connection can then be reused.
 */
const LINGER = 1000;
/** Statuses that refuse a request, whatever the body says. They show nothing about the era. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429, 503]);

/**
 * Carries requests of a revision without sessions over HTTP, each as its own POST (2026-07-28,
 * transports/streamable-http: Sending Messages). Closing the response cancels the request.
 *
 * `request` rejects with HttpStatusError for an error status without a JSON-RPC error, and for 401, 403, 429 and 503;
 * with NotSent if the server cannot be reached; with AnswerLost or SilenceError if the response ends, breaks off or
 * falls silent before the answer. An event stream may be silent for `idleTimeout`.
 */
export function httpCarrier(url: URL, options: HttpCarrierOptions = {}): Carrier {
  return new HttpCarrier(url, options);
}

const ENDED = new AnswerLost('the stream has ended');

class HttpCarrier implements Carrier {
  readonly mirrorsHeaders = true;
  onclose: (() => void) | undefined;
  readonly #url: URL;
  readonly #endpoint: Endpoint;
  readonly #maxMessageBytes: number;
  readonly #idleTimeout: number;
  readonly #onerror: (error: Error) => void;
  /** One for each request in flight. */
  readonly #open = new IdTable<RequestId, Lifetime>();
  /** Streams of answered requests that the server has not ended yet. */
  readonly #lingering = new Set<Lifetime>();
  #lastId = 0;
  #closed = false;

  constructor(url: URL, options: HttpCarrierOptions) {
    this.#url = url;
    this.#endpoint = new Endpoint(options);
    this.#maxMessageBytes = options.maxMessageBytes ?? MAX_MESSAGE_BYTES;
    this.#idleTimeout = options.idleTimeout ?? IDLE_TIMEOUT;
    this.#onerror = options.onerror ?? (() => {});
  }

  get closed(): boolean {
    return this.#closed;
  }

  async request(carried: CarriedRequest): Promise<CarriedResponse> {
    const { method, params, lifetime } = carried;
    if (this.#closed) throw new Error('The connection is closed');
    if (lifetime.ended) throw lifetime.ended;
    const id = ++this.#lastId;
    const body = JSON.stringify(rpcRequest(id, method, params));
    const cancellation = new Lifetime();
    const cancel = (): void => cancellation.abort(lifetime.ended!);
    this.#open.set(id, cancellation);
    lifetime.onAbort(cancel);
    const release = (): void => {
      this.#open.delete(id);
      lifetime.offAbort(cancel);
    };
    try {
      return await this.#exchange(id, body, carried, cancellation, release);
    } catch (error) {
      release();
      throw cancellation.ended ?? error;
    }
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      for (const cancellation of this.#open.values()) cancellation.abort(new AnswerLost('The connection was closed'));
      this.#open.clear();
      for (const cancellation of this.#lingering) cancellation.abort(ENDED);
      this.onclose?.();
    }
    return Promise.resolve();
  }

  /** @param release called once, when the request is answered and can no longer be cancelled. */
  async #exchange(
    id: RequestId,
    body: string,
    { headers, onnotification }: CarriedRequest,
    cancellation: Lifetime,
    release: () => void,
  ): Promise<CarriedResponse> {
    const url = this.#url;
    let reply: HttpReply;
    try {
      reply = await this.#endpoint.send({
        method: 'POST',
        url,
        headers: { ...headers, ...HEADERS },
        body,
        cancellation,
      });
    } catch (error) {
      if (!(error instanceof HttpStatusError) || !error.response || REFUSALS.has(error.status)) throw error;
      const { id: answered, error: why } = error.response;
      if (answered !== undefined && answered !== id) throw error;
      release();
      return { ...errorResponse(id, why), failure: error };
    }
    if (isType(reply, 'application/json')) {
      const response = answerTo(id, await reply.text(this.#maxMessageBytes), url);
      release();
      return response;
    }
    if (!isType(reply, 'text/event-stream')) {
      reply.discard();
      const type = reply.header('content-type');
      throw statusError(reply, 'POST', url, type === undefined ? 'without a response' : `as ${type}, not as JSON`);
    }
    return new Promise((resolve, reject) => {
      let linger: ReturnType<typeof setTimeout> | undefined;
      const answer = (response: Response): void => {
        linger = setTimeout(() => cancellation.abort(ENDED), LINGER);
        this.#lingering.add(cancellation);
        release();
        resolve(response);
      };
      const onevent = ({ type, data }: { type: string; data: string }): void => {
        if (linger || cancellation.aborted || type !== 'message' || data === '') return;
        const message = this.#parse(data, id);
        if (!message) return;
        if (!isResponse(message)) {
          if (!('id' in message)) return this.#call(() => onnotification(message));
          // 2026-07-28, transports/streamable-http: Receiving Messages.
          return this.#onerror(new Error(`The server sent a request, ${message.method}, on the stream of a response`));
        }
        if (message.id === id) return answer(message);
        if (message.id === undefined && 'error' in message) return answer(errorResponse(id, message.error));
        this.#onerror(new Error(`A response came for ${JSON.stringify(message.id)} on the stream of another request`));
      };
      readEvents(reply, {
        onevent,
        maxEventLength: this.#maxMessageBytes,
        idleTimeout: this.#idleTimeout,
        cancellation,
      })
        .then(() => {
          if (!linger) reject(new AnswerLost(`${shown(url)} ended the stream without an answer`));
        }, reject)
        .finally(() => {
          clearTimeout(linger);
          this.#lingering.delete(cancellation);
        });
    });
  }

  #parse(data: string, id: RequestId): Message | undefined {
    try {
      return checkMessage(parseJson(data));
    } catch (error) {
      // The response is malformed, but no other will come: fail the request.
      if (error instanceof InvalidMessage && error.failure?.id === id) return error.failure;
      this.#onerror(error as Error);
      return undefined;
    }
  }

  #call(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#onerror(error as Error);
    }
  }
}

/** The response in a JSON body. */
function answerTo(id: RequestId, text: string, url: URL): Response {
  let message: Message;
  try {
    message = checkMessage(parseJson(text));
  } catch (cause) {
    if (cause instanceof InvalidMessage && cause.failure?.id === id) return cause.failure;
    throw new AnswerLost(`${shown(url)} answered with what is no response: ${(cause as Error).message}`, { cause });
  }
  if (isResponse(message)) {
    if (message.id === id) return message;
    if (message.id === undefined && 'error' in message) return errorResponse(id, message.error);
  }
  throw new AnswerLost(`${shown(url)} answered with what is no response to the request`);
}
