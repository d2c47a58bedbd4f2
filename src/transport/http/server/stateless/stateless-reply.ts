import type { FewPerTurn } from '../../../../base/few-per-turn.ts';
import { SENT_AT_ONCE, type ReplyChannel } from '../../../transport.ts';
import type { Notification, Response } from '../../../../jsonrpc/message.ts';
import { Grace } from '../grace.ts';
import type { HttpCall } from '../call.ts';
import { SseConnection } from '../connection.ts';
import type { EndpointOptions } from '../endpoint.ts';
import { JSON_HEADERS, respondWith } from '../access/refusal-format.ts';
import { messageEvent, SSE_HEADERS } from '../sse.ts';
import { encode, stringify } from '../../../../jsonrpc/stringify.ts';

/** The most unread characters for a slow reader. Further notifications are dropped. */
const MAX_BEHIND = 1024 * 1024;

/**
 * The response to one POST of a revision without sessions (2026-07-28, transports: Receiving Messages). It is plain
 * JSON if the response comes first and soon. It becomes a stream if a notification comes first, or if nothing comes for
 * a while. Nothing is logged or resumable: if the client disconnects, the request is cancelled.
 */
export class StatelessReply implements ReplyChannel {
  onclose: (() => void) | undefined;
  /** Begins the stream if no response comes soon. This also shows whether the client has left. */
  readonly #grace: Grace;
  readonly #call: HttpCall;
  readonly #options: EndpointOptions;
  readonly #ends: FewPerTurn;
  readonly #onend: () => void;
  #connection: SseConnection | undefined;
  #behind = 0;
  #lossy = false;
  #over = false;

  /**
   * @param ends ends the requests whose callers have left.
   * @param onend called once, when the request was answered or has ended.
   */
  constructor(call: HttpCall, options: EndpointOptions, ends: FewPerTurn, onend: () => void) {
    this.#call = call;
    this.#options = options;
    this.#ends = ends;
    this.#onend = onend;
    const begin = (): void => void this.#begin();
    this.#grace = new Grace(options.grace, begin);
  }

  notify(message: Notification): Promise<void> {
    if (this.#over) return SENT_AT_ONCE;
    let event: string;
    try {
      event = messageEvent(stringify(message), undefined);
    } catch (error) {
      this.#options.onerror(error as Error);
      return Promise.reject(error);
    }
    const connection = this.#begin();
    this.#behind = connection.full ? this.#behind + event.length : 0;
    if (this.#behind > MAX_BEHIND) this.#reportLoss();
    else connection.write(event);
    return connection.sent();
  }

  answer(response: Response, status = 200): void {
    if (this.#over) return;
    if (!this.#connection) {
      const body = encode(response);
      this.#end();
      return respondWith(this.#call, status, JSON_HEADERS, body);
    }
    const event = messageEvent(stringify(response), undefined);
    this.#end();
    this.#connection.write(event);
    this.#connection.end();
  }

  #begin(): SseConnection {
    this.#grace.end();
    return (this.#connection ??= new SseConnection(this.#call.stream(200, SSE_HEADERS), this.#options.connections, () =>
      this.#gone(),
    ));
  }

  #reportLoss(): void {
    if (this.#lossy) return;
    this.#lossy = true;
    this.#options.onerror(new Error('Notifications of a request were dropped: its caller reads too slowly'));
  }

  /** One client may close thousands of connections at once, so only a few requests end in one turn of the event loop. */
  #gone(): void {
    if (this.#over) return;
    this.#stop();
    this.#ends.run(() => {
      this.#onend();
      this.onclose?.();
    });
  }

  #end(): void {
    this.#stop();
    this.#onend();
  }

  /** Nothing more is sent. */
  #stop(): void {
    this.#over = true;
    this.#grace.end();
  }
}
