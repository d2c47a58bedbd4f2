import { Oldest } from '../../base/oldest.ts';
import type { RequestId } from '../../jsonrpc/message.ts';
import { CAN_REQUIRE_INPUT, NotificationMethod, QUESTIONS } from '../../protocol/methods.ts';
import { factsOf, type MessageFacts } from './message-facts.ts';
import { SpanIndex } from './span-index.ts';
import type { Span, SpanRecord, SpanState } from './span.ts';

export type { Span, SpanRecord } from './span.ts';

/** The limits of what is kept. */
export interface SpansOptions {
  /** The most spans. Above this, the oldest is dropped. Default 10 000. */
  readonly maxSpans?: number | undefined;
  /** The most record numbers that one span keeps. Default 1 000. */
  readonly maxRecords?: number | undefined;
}

type MutableSpan = { -readonly [Field in keyof Span]: Span[Field] } & {
  records: number[];
  parent?: MutableSpan | undefined;
};

/** What is known about a connection. */
interface Connection {
  readonly isHttp: boolean;
  readonly role: string;
  /** The session and the status of the newest HTTP exchange. */
  session: string | undefined;
  status: number;
}

/** A record, with the connection on which it passed. */
interface Place extends SpanRecord {
  readonly conn: number;
  readonly dir: string;
  readonly connection: Connection;
}

/** A longer `requestState` is not remembered. UTF-16 code units. */
const MAX_STATE = 16 * 1024;
const MAX_CONNECTIONS = 10_000;
/**
 * The most requests with the same id, or in the same HTTP exchange, that are remembered. More than one cannot be told
 * apart anyway.
 */
const MAX_SAME = 64;

/**
 * Joins the messages of a capture into spans. If a message comes on another HTTP connection than its request, the
 * session and the id tell its span. If they fit several spans, it belongs to none.
 */
export class Spans {
  readonly #maxSpans: number;
  readonly #maxRecords: number;
  readonly #spans = new Set<MutableSpan>();
  readonly #oldest = new Oldest(this.#spans);
  readonly #index = new SpanIndex<MutableSpan>();
  readonly #connections = new Map<number, Connection>();
  readonly #oldestConnection = new Oldest(this.#connections);
  #newest = 0;

  constructor({ maxSpans = 10_000, maxRecords = 1000 }: SpansOptions = {}) {
    this.#maxSpans = maxSpans;
    this.#maxRecords = maxRecords;
  }

  /** All spans, the oldest first. They change while records are added. */
  all(): Iterable<Span> {
    return this.#spans;
  }

  /**
   * Adds the next record.
   *
   * @param text returns the bytes of the record as text, or undefined if they are too many. Called for heads and
   * messages.
   * @returns the spans that the record belongs to: at most one, except for a batch.
   */
  add(record: SpanRecord, text: () => string | undefined): readonly Span[] {
    const { conn, dir, layer } = record;
    if (conn === undefined) return [];
    if (layer === 'open') this.#open(conn, record.protocol === 'http', record.role ?? '');
    if (layer === 'close') this.#close(conn, record);
    if (dir === undefined) return [];
    const connection = this.#connections.get(conn) ?? this.#open(conn, record.exchange !== undefined, '');
    const place: Place = { ...record, conn, dir, connection };
    if (layer === 'head') return this.#head(place, text() ?? '');
    if (layer === 'body' && dir === 's>c' && connection.status === 200) this.#endUnanswered(exchangeKey(place), record);
    if (layer !== 'message') return [];
    const spans = factsOf(record, text).map((facts) => this.#message(place, facts));
    return [...new Set(spans.filter((span) => span !== undefined))];
  }

  #open(conn: number, isHttp: boolean, role: string): Connection {
    const connection = { isHttp, role, session: undefined, status: 0 };
    this.#connections.set(conn, connection);
    if (this.#connections.size > MAX_CONNECTIONS) this.#connections.delete(this.#oldestConnection.take()!);
    return connection;
  }

  #close(conn: number, record: SpanRecord): void {
    const isHttp = this.#connections.get(conn)?.isHttp;
    this.#connections.delete(conn);
    for (const span of this.#index.all(connectionKey(conn))) {
      if (span.state === 'open') end(span, 'unanswered', record);
      if (!isHttp) this.#index.remove(span);
    }
    this.#index.removeKey(connectionKey(conn));
  }

  #endUnanswered(key: string, record: SpanRecord): void {
    for (const span of this.#index.all(key)) if (span.state === 'open') end(span, 'unanswered', record);
  }

  #head(place: Place, text: string): Span[] {
    const { connection, dir } = place;
    const session = /^mcp-session-id:[ \t]*([!-~]{1,256})[ \t]*\r?$/im.exec(text)?.[1];
    if (dir === 'c>s') [connection.session, connection.status] = [session, 0];
    else {
      connection.session ??= session;
      connection.status = Number(/^HTTP\/1\.\d (\d{3})/.exec(text)?.[1] ?? 0);
    }
    if (connection.status < 400) return [];
    const refused = this.#index.all(exchangeKey(place)).filter(({ state }) => state === 'open');
    for (const span of refused) {
      this.#addRecord(span, place.n);
      end(span, 'failed', place);
    }
    return refused;
  }

  #message(place: Place, facts: MessageFacts): Span | undefined {
    const { kind, id } = facts;
    if (kind === 'notification') return this.#notification(place, facts);
    if (kind !== 'request') return this.#answer(place, facts);
    return id === undefined ? undefined : this.#request(place, { ...facts, id });
  }

  #request(place: Place, facts: MessageFacts & { id: RequestId }): Span {
    const { conn, dir, exchange, connection } = place;
    const { id, method, tool, progressToken } = facts;
    const waiting = facts.input === true ? this.#index.one(inputKey(place, facts)) : undefined;
    const span =
      waiting ?? this.#newSpan({ conn, dir, id, method, tool, ...(exchange !== undefined && { exchange }) }, place);
    if (waiting) {
      this.#index.remove(waiting);
      [waiting.state, waiting.end] = ['open', undefined];
    } else span.parent = this.#callOf(place, facts);
    for (const key of keysOf(place, dir, 'id', id)) {
      // If an id is used again, the earlier request gets no answer any more.
      const before = connection.isHttp ? [] : this.#index.all(key);
      for (const each of before) {
        if (each.state === 'open') end(each, 'unanswered', place);
        this.#index.removeKey(key);
      }
      this.#index.add(key, span, MAX_SAME);
    }
    if (progressToken !== undefined)
      for (const key of keysOf(place, dir, 'token', progressToken)) this.#index.add(key, span, MAX_SAME);
    if (exchange !== undefined && dir === 'c>s') this.#index.add(exchangeKey(place), span, MAX_SAME);
    if (!connection.isHttp && dir === 'c>s' && CAN_REQUIRE_INPUT.has(method ?? ''))
      this.#index.add(callsKey(conn), span);
    this.#index.add(connectionKey(conn), span);
    this.#addRecord(span, place.n);
    return span;
  }

  #newSpan(
    fields: Pick<MutableSpan, 'conn' | 'dir' | 'id' | 'method' | 'tool' | 'exchange'>,
    { t }: Place,
  ): MutableSpan {
    this.#newest += 1;
    const span: MutableSpan = { number: this.#newest, ...fields, state: 'open', start: t, records: [], omitted: 0 };
    this.#spans.add(span);
    if (this.#spans.size > this.#maxSpans) {
      const oldest = this.#oldest.take()!;
      this.#spans.delete(oldest);
      this.#index.remove(oldest);
    }
    return span;
  }

  /** The call that a question belongs to: over HTTP the call on whose stream it came, otherwise the only open call. */
  #callOf(place: Place, { method = '' }: MessageFacts): MutableSpan | undefined {
    if (place.dir !== 's>c' || !QUESTIONS.has(method)) return undefined;
    const key = place.connection.isHttp ? exchangeKey(place) : callsKey(place.conn);
    const calls = this.#index.all(key).filter(({ state }) => state === 'open');
    return calls.length === 1 ? calls[0] : undefined;
  }

  #answer(place: Place, facts: MessageFacts): Span | undefined {
    const { id, kind, input } = facts;
    const dir = place.dir === 'c>s' ? 's>c' : 'c>s';
    const span = id === undefined ? this.#index.one(exchangeKey(place)) : this.#find(place, dir, 'id', id);
    if (!span) return undefined;
    this.#addRecord(span, place.n);
    span.answer = place.n;
    this.#index.remove(span);
    if (input === true) {
      span.state = 'input_required';
      this.#index.add(inputKey(place, { ...facts, method: span.method, tool: span.tool }), span);
    } else if (span.state === 'cancelled') return span;
    else end(span, kind === 'error' ? 'failed' : 'done', place);
    return span;
  }

  #notification(place: Place, { method, about, progressToken }: MessageFacts): Span | undefined {
    const { dir } = place;
    const isCancelled = method === NotificationMethod.Cancelled;
    const other = dir === 'c>s' ? 's>c' : 'c>s';
    let span: MutableSpan | undefined;
    if (about !== undefined) span = this.#find(place, isCancelled ? dir : other, 'id', about);
    else if (progressToken !== undefined) span = this.#find(place, other, 'token', progressToken);
    else if (dir === 's>c' && place.exchange !== undefined) span = this.#index.one(exchangeKey(place));
    if (!span) return undefined;
    this.#addRecord(span, place.n);
    if (isCancelled && span.state === 'open') end(span, 'cancelled', place);
    return span;
  }

  #find(place: Place, dir: string, what: 'id' | 'token', id: RequestId): MutableSpan | undefined {
    for (const key of keysOf(place, dir, what, id)) {
      const span = this.#index.one(key);
      if (span) return span;
    }
    return undefined;
  }

  #addRecord(span: MutableSpan, n: number): void {
    for (let each: MutableSpan | undefined = span; each; each = each.parent) {
      if (each.records.at(-1) === n) continue;
      if (each.records.length < this.#maxRecords) each.records.push(n);
      else each.omitted += 1;
    }
  }
}

function end(span: MutableSpan, state: SpanState, { t }: SpanRecord): void {
  span.state = state;
  span.end = t;
}

function connectionKey(conn: number): string {
  return `connection ${conn}`;
}

function callsKey(conn: number): string {
  return `calls ${conn}`;
}

function exchangeKey({ conn, exchange }: Place): string {
  return `exchange ${conn} ${exchange}`;
}

/** The keys of a request by its id or token, the most certain key first. The types of ids matter: 1 is not "1". */
function keysOf({ conn, exchange, connection }: Place, dir: string, what: string, id: RequestId): string[] {
  const name = `${dir} ${what} ${JSON.stringify(id)}`;
  const { isHttp, role, session } = connection;
  if (!isHttp) return [`${conn} ${name}`];
  return [`${conn} ${exchange} ${name}`, session === undefined ? `${role} ${name}` : `${role} ${session} ${name}`];
}

/** The key of a request that must be repeated with input. */
function inputKey({ connection }: Place, { requestState, method, tool }: MessageFacts): string {
  const place = connection.isHttp ? `http ${connection.role}` : 'stdio';
  return requestState !== undefined && requestState.length <= MAX_STATE
    ? `${place} state ${requestState}`
    : `${place} input ${method} ${tool}`;
}
