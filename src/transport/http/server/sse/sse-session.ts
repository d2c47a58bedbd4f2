import { BatchAnswers } from '../../../../jsonrpc/batch.ts';
import { ErrorCode } from '../../../../jsonrpc/errors.ts';
import { isRequest, type Message } from '../../../../jsonrpc/message.ts';
import { InvalidMessage, InvalidResponse, checkMessage } from '../../../../jsonrpc/parse.ts';
import { profileOf, type RevisionProfile } from '../../../../protocol/revisions.ts';
import { admitBatch, idInUse } from '../../../batches.ts';
import { InFlight } from '../../../in-flight.ts';
import type { MessageExtra, Transport } from '../../../transport.ts';
import type { HttpCall } from '../call.ts';
import { SseConnection, type OpenConnections } from '../connection.ts';
import { CallExtra } from '../extra.ts';
import { SSE_HEADERS, messageEvent } from '../sse.ts';
import { stringify } from '../../../../jsonrpc/stringify.ts';

/** The most unread characters before a slow reader is disconnected. */
const MAX_BEHIND = 16 * 1024 * 1024;
/** The most messages that wait until the session is served. */
const MAX_HELD = 100;
const MAX_HELD_BYTES = 16 * 1024 * 1024;

/**
 * The server's end of one HTTP+SSE session: a stream to the client, and POST requests from it (2024-11-05, transports:
 * HTTP with SSE). The session ends with its stream.
 */
export class SseSession implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  readonly sessionId: string;
  readonly principal: string | undefined;
  readonly #connection: SseConnection;
  readonly #onend: (session: SseSession) => void;
  readonly #answers = new BatchAnswers();
  readonly #inFlight = new InFlight();
  #profile: RevisionProfile | undefined;
  #behind = 0;
  #queue: { message: Message; extra: MessageExtra }[] | undefined = [];
  #heldBytes = 0;
  #closed = false;
  lastSeen = Date.now();

  constructor(id: string, call: HttpCall, connections: OpenConnections, onend: (session: SseSession) => void) {
    this.sessionId = id;
    this.principal = call.principal;
    this.#onend = onend;
    this.#connection = new SseConnection(call.stream(200, SSE_HEADERS), connections, () => void this.close());
  }

  get connected(): boolean {
    return !this.#connection.closed;
  }

  start(): Promise<void> {
    const queue = this.#queue ?? [];
    this.#queue = undefined;
    for (const { message, extra } of queue) this.#deliver(message, extra);
    return Promise.resolve();
  }

  /** The first event names the URL for the client's messages. */
  announce(address: string): void {
    this.#connection.write(`event: endpoint\ndata: ${address}\n\n`);
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
      return this.#write(ready === message ? json : JSON.stringify(ready));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#closed = true;
    this.#connection.end();
    this.#onend(this);
    try {
      this.onclose?.();
    } catch (error) {
      this.onerror?.(error as Error);
    }
    return Promise.resolve();
  }

  /**
   * Reads the body of one POST.
   *
   * @throws InvalidMessage if it is refused. Nothing of it has been delivered then, but the receiver of a malformed
   * response has been told.
   */
  receive(value: unknown, call: HttpCall): void {
    this.lastSeen = Date.now();
    if (this.#queue && (this.#queue.length >= MAX_HELD || (this.#heldBytes += call.bodyBytes) > MAX_HELD_BYTES)) {
      throw new InvalidMessage(ErrorCode.InternalError, 'The session is not being served yet');
    }
    if (!Array.isArray(value)) {
      const message = this.#check(value, call);
      if (isRequest(message) && this.#inFlight.has(message.id)) throw idInUse(message.id);
      return this.#accept(message, new CallExtra(call));
    }
    const batch = admitBatch(value, { profile: this.#profile, inUse: (id) => this.#inFlight.has(id) });
    this.#answers.add(batch);
    if (batch.requests.length === 0 && batch.errors.length > 0) {
      this.#write(JSON.stringify(batch.errors)).catch((error: Error) => this.onerror?.(error));
    }
    const extra = new CallExtra(call, batch.messages.length);
    for (const message of batch.messages) this.#accept(message, extra);
  }

  #check(value: unknown, call: HttpCall): Message {
    try {
      return checkMessage(value);
    } catch (error) {
      if (error instanceof InvalidResponse && error.failure) this.#accept(error.failure, new CallExtra(call));
      throw error;
    }
  }

  #accept(message: Message, extra: MessageExtra): void {
    this.#inFlight.add(message);
    if (this.#queue) this.#queue.push({ message, extra });
    else this.#deliver(message, extra);
  }

  #deliver(message: Message, extra: MessageExtra): void {
    try {
      this.onmessage?.(message, extra);
    } catch (error) {
      this.onerror?.(error as Error);
    }
    if ('method' in message && message.method === 'notifications/cancelled') {
      const rest = this.#answers.abandon(message.params?.['requestId']);
      if (rest) this.#write(JSON.stringify(rest)).catch((error: Error) => this.onerror?.(error));
    }
  }

  async #write(json: string): Promise<void> {
    this.#behind = this.#connection.full ? this.#behind + json.length : 0;
    if (this.#behind > MAX_BEHIND) {
      this.#connection.destroy();
      throw new Error(`The client left more than ${MAX_BEHIND} characters unread`);
    }
    this.#connection.write(messageEvent(json, undefined));
    await this.#connection.drained();
  }
}
