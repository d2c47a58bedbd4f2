import { BatchAnswers } from '../../../../jsonrpc/batch.ts';
import { isRequest, type Message, type Request, type RequestId, type Response } from '../../../../jsonrpc/message.ts';
import { profileOf, type RevisionProfile } from '../../../../protocol/revisions.ts';
import { admitBatch, idInUse } from '../../../batches.ts';
import { cancelledBy, InFlight } from '../../../in-flight.ts';
import { BaseTransport } from '../../../base-transport.ts';
import type { MessageExtra, Transport } from '../../../transport.ts';
import type { HttpCall } from '../call.ts';
import { SseConnection } from '../connection.ts';
import { cancellationOf, EarlyCancellations } from '../early-cancellations.ts';
import type { EndpointOptions } from '../endpoint.ts';
import { CallExtra } from '../extra.ts';
import { SSE_HEADERS, messageEvent } from '../sse.ts';
import { stringify, stringifyBatch } from '../../../../jsonrpc/stringify.ts';

/**
 * The server's side of one HTTP+SSE session: a stream to the client, and POST requests from it (2024-11-05, transports:
 * HTTP with SSE). The session ends with its stream.
 */
export class SseSession extends BaseTransport implements Transport {
  readonly sessionId: string;
  readonly principal: string | undefined;
  /** A header of the request for the stream, for messages that reached another process. Credentials are hidden. */
  readonly header: MessageExtra['header'];
  readonly #connection: SseConnection;
  readonly #address: string;
  readonly #options: EndpointOptions;
  readonly #answers = new BatchAnswers();
  readonly #inFlight = new InFlight();
  readonly #early = new EarlyCancellations();
  #profile: RevisionProfile | undefined;
  #closed = false;
  lastSeen = performance.now();

  /** @param address the URL for the client's messages. */
  constructor(id: string, call: HttpCall, address: string, options: EndpointOptions, header?: MessageExtra['header']) {
    super();
    this.sessionId = id;
    this.principal = call.principal;
    this.header = header;
    this.#address = address;
    this.#options = options;
    this.#connection = new SseConnection(call.stream(200, SSE_HEADERS), options.connections, () => void this.close());
  }

  get connected(): boolean {
    return !this.#connection.closed;
  }

  /** The first event names the URL for the client's messages, so no message can arrive before the session is served. */
  start(): Promise<void> {
    this.#connection.write(`event: endpoint\ndata: ${this.#address}\n\n`);
    return Promise.resolve();
  }

  setProtocolVersion(version: string): void {
    this.#profile = profileOf(version);
  }

  send(message: Message): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('The session is closed'));
    try {
      const json = stringify(message);
      this.#inFlight.settle(message);
      const ready = this.#answers.take(message);
      if (ready === undefined) return Promise.resolve();
      return this.#write(Array.isArray(ready) ? stringifyBatch(ready) : json, isRequest(message));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#closed = true;
    this.#connection.end();
    this.#options.sessions.delete(this.sessionId);
    this.guard(() => this.onclose?.());
    return Promise.resolve();
  }

  retire(): Promise<void> {
    return this.close();
  }

  /**
   * Handles the body of one POST.
   *
   * @param extraOf what is known about a message, by the number of messages in the body.
   * @param admits whether the caller may make the requests of a batch.
   * @returns false if it may not.
   * @throws InvalidMessage if the body is refused. None of its messages has been delivered then.
   */
  receive(
    body: Message | readonly unknown[],
    extraOf: (among: number) => MessageExtra,
    admits: (requests: readonly Request[]) => boolean = () => true,
  ): boolean {
    this.lastSeen = performance.now();
    const inUse = (id: RequestId): boolean => this.#inFlight.has(id);
    if ('jsonrpc' in body) {
      if (isRequest(body) && inUse(body.id)) throw idInUse(body.id);
      this.#deliver(body, extraOf(1));
      return true;
    }
    const batch = admitBatch(body, { profile: this.#profile, inUse });
    if (!admits(batch.messages.filter(isRequest))) return false;
    const ready = this.#answers.add(batch);
    if (ready) this.#answer(ready);
    for (const message of batch.messages) this.#deliver(message, extraOf(batch.messages.length));
    return true;
  }

  deliver(message: Message, call: HttpCall): void {
    this.#deliver(message, new CallExtra(call));
  }

  #deliver(message: Message, extra: MessageExtra): void {
    if (this.#closed) return;
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined && !this.#inFlight.has(cancelled)) this.#early.add(cancelled);
    this.#inFlight.add(message);
    this.callOnmessage(message, extra);
    const rest = this.#answers.abandon(cancelled);
    if (rest) this.#answer(rest);
    if (isRequest(message) && this.#early.take(message.id)) this.#deliver(cancellationOf(message.id), extra);
  }

  #answer(batch: readonly Response[]): void {
    void this.#write(stringifyBatch(batch));
  }

  #write(json: string, joins = false): Promise<void> {
    this.#connection.write(messageEvent(json, undefined), joins);
    return this.#connection.sent();
  }
}
