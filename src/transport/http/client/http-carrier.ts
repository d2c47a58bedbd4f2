import { printableError } from '../../../base/printable.ts';
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
import { quoting, shortJson } from '../../../base/short-text.ts';
import type { Timer } from '../../../base/timer.ts';
import {
  Endpoint,
  IDLE_TIMEOUT,
  isType,
  MAX_MESSAGE_BYTES,
  notJson,
  REFUSALS,
  type HttpClientOptions,
} from './endpoint.ts';
import { AnswerLost, HttpStatusError, shown } from './errors.ts';
import { abortSoon, readEvents, STREAM_ENDED } from './event-stream.ts';
import type { HttpReply } from './http.ts';
import { parsedInTurn } from './parsed-in-turn.ts';

export interface HttpCarrierOptions extends HttpClientOptions {
  /** Called with errors that cannot be reported to a caller. Default: they are ignored. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
} as const;

/**
 * Carries requests of a revision without sessions over HTTP, each as its own POST (2026-07-28,
 * transports/streamable-http: Sending Messages). Closing the response cancels the request.
 *
 * `request` rejects with HttpStatusError for an error status without a JSON-RPC error, and for 401, 403, 429 and 503;
 * with NotSent if the server cannot be reached; with AnswerLost if the response ends, or is silent for too long, before
 * the answer. An event stream may be silent for `idleTimeout`.
 */
export function httpCarrier(url: URL, options: HttpCarrierOptions = {}): Carrier {
  return new HttpCarrier(url, options);
}

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
    try {
      return await this.#exchange(id, body, carried, cancellation);
    } catch (error) {
      throw cancellation.ended ?? error;
    } finally {
      // From here on the request can no longer be cancelled.
      this.#open.delete(id);
      lifetime.offAbort(cancel);
    }
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      for (const cancellation of this.#open.values()) cancellation.abort(new AnswerLost('The connection was closed'));
      this.#open.clear();
      for (const cancellation of this.#lingering) cancellation.abort(STREAM_ENDED);
      this.onclose?.();
    }
    return Promise.resolve();
  }

  async #exchange(
    id: RequestId,
    body: string,
    { headers, onnotification }: CarriedRequest,
    cancellation: Lifetime,
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
      return { ...errorResponse(id, why), failure: error };
    }
    if (isType(reply, 'application/json'))
      return parsedInTurn(await reply.text(this.#maxMessageBytes), url.origin, (text) => answerIn(text, id, url));
    if (!isType(reply, 'text/event-stream')) throw notJson(reply, url);
    return this.#readStream(reply, id, onnotification, cancellation);
  }

  /** Reads the event stream of a request up to its response. Later events are ignored. */
  #readStream(
    reply: HttpReply,
    id: RequestId,
    onnotification: CarriedRequest['onnotification'],
    cancellation: Lifetime,
  ): Promise<CarriedResponse> {
    return new Promise((resolve, reject) => {
      let linger: Timer;
      const answer = (response: Response): void => {
        linger = abortSoon(cancellation);
        this.#lingering.add(cancellation);
        resolve(response);
      };
      const onevent = ({ type, data }: { type: string; data: string }): void => {
        if (linger || cancellation.aborted || type !== 'message' || data === '') return;
        try {
          const message = messageFor(id, data);
          if (isResponse(message)) {
            if (message.id === id) return answer(message);
            throw printableError(`A response with id ${shortJson(message.id)} came on the stream of another request`);
          }
          // 2026-07-28, transports/streamable-http: Receiving Messages.
          if ('id' in message)
            throw printableError(quoting`The server sent a request (${message.method}) on a response stream`);
          onnotification(message);
        } catch (error) {
          this.#onerror(error as Error);
        }
      };
      readEvents(reply, {
        onevent,
        maxEventLength: this.#maxMessageBytes,
        idleTimeout: this.#idleTimeout,
        peer: this.#url.origin,
        cancellation,
      })
        .then(() => {
          if (!linger) reject(new AnswerLost(`${shown(this.#url)} ended the stream without a response`));
        }, reject)
        .finally(() => {
          clearTimeout(linger);
          this.#lingering.delete(cancellation);
        });
    });
  }
}

/** The response in a JSON body. */
function answerIn(text: string, id: RequestId, url: URL): Response {
  let message: Message;
  try {
    message = messageFor(id, text);
  } catch (cause) {
    throw new AnswerLost(`${shown(url)} sent an invalid response: ${(cause as Error).message}`, { cause });
  }
  if (isResponse(message) && message.id === id) return message;
  throw new AnswerLost(`${shown(url)} sent JSON that is not a response to the request`);
}

/**
 * Parses a message. A malformed response, or an error without an id, fails the request, because no other response will
 * come.
 */
function messageFor(id: RequestId, text: string): Message {
  try {
    const message = checkMessage(parseJson(text));
    const unnamed = isResponse(message) && message.id === undefined && 'error' in message;
    return unnamed ? errorResponse(id, message.error) : message;
  } catch (error) {
    if (error instanceof InvalidMessage && error.failure?.id === id) return error.failure;
    throw error;
  }
}
