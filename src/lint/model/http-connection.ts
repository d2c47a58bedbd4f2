import { sizeOf } from '../../inspect/range-size.ts';
import { otherRecords, type PartOfStream } from './part.ts';
import type { Conversation } from './conversation.ts';
import type { HttpConversations } from './conversations.ts';
import { parseFrame } from './event-frame.ts';
import type { WireEvent } from './events.ts';
import { Exchange } from './exchange.ts';
import { HttpHead } from './http-head.ts';
import { Method } from '../../protocol/methods.ts';
import { revisionsOfClient, revisionsOfRequest } from './revisions-of.ts';
import { isObject } from '../../jsonrpc/message.ts';
import { decodeLatin1, decodeUtf8 } from './text.ts';
import { eventsOfText, readPart, type ReadText } from './text-reader.ts';

/** The most exchanges of a connection that wait for their end. */
const MAX_EXCHANGES = 1000;
/** The most event ids of a session that are remembered. */
const MAX_EVENT_IDS = 1000;

/** Turns the parts of one HTTP connection into events. */
export class HttpConnection {
  readonly #conn: number;
  readonly #role: string;
  readonly #conversations: HttpConversations;
  readonly #exchanges = new Map<number, Exchange>();

  constructor(conn: number, role: string, conversations: HttpConversations) {
    this.#conn = conn;
    this.#role = role;
    this.#conversations = conversations;
  }

  *part(part: PartOfStream): Generator<WireEvent> {
    const { layer, dir, exchange: number = 0 } = part;
    const isRequest = dir === 'c>s';
    if (layer === 'head') yield* isRequest ? this.#requestHead(number, part) : this.#responseHead(number, part);
    const exchange = this.#exchanges.get(number);
    if (!exchange) return;
    if (layer === 'message') yield* isRequest ? this.#request(exchange, part) : this.#response(exchange, part);
    else if (layer === 'chunk' && !isRequest) exchange.addChunk(part.range);
    else if (layer === 'frame') yield* this.#frame(exchange, part);
    else if (layer === 'body') yield* isRequest ? this.#begin(exchange, undefined) : this.#end(number, exchange, part);
  }

  /** The connection was closed. Responses without an end were cut off. */
  *close(): Generator<WireEvent> {
    for (const [number, exchange] of this.#exchanges) yield* this.#finish(number, exchange);
  }

  lose(): void {
    this.#exchanges.clear();
  }

  *#requestHead(number: number, part: PartOfStream): Generator<WireEvent> {
    const bytes = part.bytes();
    if (bytes === undefined || part.note !== undefined) return;
    const head = new HttpHead(decodeLatin1(bytes));
    const exchange = new Exchange({ conn: this.#conn, exchange: number, n: part.n }, this.#role, head);
    // Without an end, an exchange waits until its connection closes. The oldest one is no longer judged then.
    if (this.#exchanges.size >= MAX_EXCHANGES) this.#exchanges.delete(this.#exchanges.keys().next().value!);
    this.#exchanges.set(number, exchange);
    const hasBody = head.get('transfer-encoding') !== undefined || Number(head.get('content-length') ?? 0) > 0;
    if (!hasBody) yield* this.#begin(exchange, undefined);
  }

  /** The request is known as far as it must be to be judged. */
  *#begin(exchange: Exchange, read: ReadText | undefined): Generator<WireEvent> {
    if (exchange.hasBegun) return;
    exchange.hasBegun = true;
    const value = read && 'value' in read ? read.value : undefined;
    const conversation = this.#conversations.of(exchange, value);
    exchange.conversation = conversation;
    exchange.isMcp ||= carriesMcp(exchange, value);
    const message = isObject(value) ? value : undefined;
    exchange.hasMessage = value !== undefined;
    exchange.hasRequest = message?.['method'] !== undefined && message['id'] !== undefined;
    exchange.initializes = message?.['method'] === Method.Initialize;
    exchange.revisions = message
      ? revisionsOfClient(message, { conversation, exchange })
      : revisionsOfRequest(exchange, conversation);
    if (exchange.isMcp) yield { on: 'request', event: eventOf(exchange, conversation, [exchange.n]) };
  }

  *#request(exchange: Exchange, part: PartOfStream): Generator<WireEvent> {
    const read = readPart(part);
    yield* this.#begin(exchange, read);
    const conversation = exchange.conversation!;
    const place = { n: part.n, others: [exchange.n], from: 'client', conversation, exchange } as const;
    yield* eventsOfText(read, place, exchange.revisions);
  }

  *#responseHead(number: number, part: PartOfStream): Generator<WireEvent> {
    const exchange = this.#exchanges.get(number);
    const bytes = part.bytes();
    if (!exchange || bytes === undefined || part.note !== undefined) return;
    const head = new HttpHead(decodeLatin1(bytes));
    const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(head.firstLine)?.[1] ?? 0);
    if (status < 200) return;
    yield* this.#begin(exchange, undefined);
    [exchange.response, exchange.responseN, exchange.status] = [head, part.n, status];
    const resumed = exchange.request.get('last-event-id');
    if (resumed !== undefined) exchange.stream = exchange.conversation!.eventIds.get(resumed)?.stream;
    let conversation = exchange.conversation!;
    if (exchange.initializes && status < 300 && conversation.carriage === 'http')
      exchange.conversation = conversation = this.#conversations.opened(exchange, conversation);
    if (exchange.isOpaque) conversation.lose();
    // A client may log in, for example, and then send the same request again.
    if (status >= 400) for (const request of exchange.waiting) conversation.requests.client.forget(request);
    if (status === 404) conversation.gone ??= part.n;
    if (exchange.isMcp) yield { on: 'response', event: eventOf(exchange, conversation, [part.n, exchange.n]) };
    const isEmpty =
      status === 204 || status === 304 || exchange.method === 'HEAD' || head.get('content-length') === '0';
    if (!isEmpty) return;
    exchange.isWhole = true;
    yield* this.#finish(number, exchange);
  }

  *#frame(exchange: Exchange, part: PartOfStream): Generator<WireEvent> {
    const bytes = part.bytes();
    const text = bytes && decodeUtf8(bytes);
    if (text === undefined) {
      exchange.events += 1;
      return;
    }
    const frame = parseFrame(text);
    // Comments keep a connection open, and are no events.
    const isEvent = frame.data !== undefined || frame.id !== undefined || frame.event !== undefined;
    if (isEvent) exchange.events += 1;
    [exchange.frame, exchange.frameN] = [frame, part.n];
    if (frame.event === 'endpoint' && exchange.method === 'GET')
      exchange.conversation = this.#conversations.openedStream(exchange, frame.data ?? '');
    const conversation = exchange.conversation!;
    const { id, retry } = frame;
    const earlier = id === undefined ? undefined : conversation.eventIds.get(id);
    exchange.isReplay = earlier !== undefined && exchange.resumes;
    if (id !== undefined && id !== '' && conversation.session !== undefined && !earlier) {
      if (conversation.eventIds.size < MAX_EVENT_IDS && id.length <= 128)
        conversation.eventIds.set(id, { n: part.n, stream: exchange.stream });
    }
    if (id !== undefined) exchange.lastEventId = id;
    if (retry !== undefined) exchange.hasRetry = true;
    if (!exchange.isMcp) return;
    const isCutOff = part.note !== undefined;
    const event = eventOf(exchange, conversation, [part.n, exchange.responseN]);
    yield { on: 'frame', event: { ...event, frame, earlier, isFirst: isEvent && exchange.events === 1, isCutOff } };
  }

  *#response(exchange: Exchange, part: PartOfStream): Generator<WireEvent> {
    const conversation = exchange.conversation;
    if (!conversation || !exchange.isMcp || exchange.isReplay) return;
    const others = otherRecords([exchange.isStream ? exchange.frameN : exchange.responseN, exchange.n]);
    const place = { n: part.n, others, from: 'server', conversation, exchange } as const;
    yield* eventsOfText(readPart(part), place, exchange.revisions);
  }

  *#end(number: number, exchange: Exchange, part: PartOfStream): Generator<WireEvent> {
    exchange.contentSize = exchange.isChunked ? exchange.contentSize : sizeOf(part.range);
    exchange.isWhole = part.note === undefined;
    yield* this.#finish(number, exchange);
  }

  *#finish(number: number, exchange: Exchange): Generator<WireEvent> {
    this.#exchanges.delete(number);
    const { conversation, response, isMcp, responseN, n } = exchange;
    if (!conversation || !response || !isMcp) return;
    if (exchange.method === 'DELETE' && exchange.status < 300) conversation.ended = responseN;
    yield { on: 'exchange', event: eventOf(exchange, conversation, [responseN, n]) };
  }
}

function eventOf(
  exchange: Exchange,
  conversation: Conversation,
  records: readonly number[],
): { exchange: Exchange; conversation: Conversation; records: readonly number[]; revisions: Exchange['revisions'] } {
  return { exchange, conversation, records, revisions: exchange.revisions };
}

/** Whether a request is one of MCP. A server may have other pages too. */
function carriesMcp({ request, method }: Exchange, value: unknown): boolean {
  if (value !== undefined) return true;
  if (request.get('mcp-session-id') !== undefined || request.get('mcp-protocol-version') !== undefined) return true;
  return method === 'GET' && (request.get('accept') ?? '').includes('text/event-stream');
}
