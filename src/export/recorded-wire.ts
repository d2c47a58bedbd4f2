import type { WireRecord } from '../inspect/record.ts';
import { StreamBytes } from '../lint/model/stream-bytes.ts';
import { jsonIn } from '../jsonrpc/json-in.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { dechunked, readHead, type HttpHead } from './http-head.ts';

/** An HTTP request of a recording, and its response as far as it came. */
export interface RecordedExchange {
  /** The number of the record of its head. */
  readonly n: number;
  /** The numbers of all its records. */
  readonly records: number[];
  readonly conn: number;
  /** Microseconds since the recording began. */
  readonly sent: number;
  readonly request: HttpHead;
  body: string;
  response?: HttpHead | undefined;
  responseBody: string;
  /** When the response began and ended. */
  began?: number | undefined;
  ended?: number | undefined;
}

/** A message, an HTTP head, or a line of stderr of a recording, in its order. */
export interface RecordedPart {
  readonly n: number;
  readonly t: number;
  readonly conn: number;
  readonly from: 'client' | 'server' | 'stderr';
  readonly kind: 'message' | 'head' | 'stderr';
  readonly text: string;
  /** The method, or what kind of message it is. */
  readonly title: string;
}

/** What a recording has, for exports. In a recording of a bridge: between the bridge and its clients. */
export interface RecordedWire {
  readonly exchanges: readonly RecordedExchange[];
  readonly parts: readonly RecordedPart[];
}

/** The most bytes that are kept until a part in them is complete. */
const MAX_BYTES = 256 * 1024 * 1024;
/**
 * The most characters of all parts, and of all bodies of HTTP. An export has one of both, and is one string of at most 2^29
 * characters.
 */
const MAX_TEXT = 256 * 1024 * 1024;
/** What each text costs in addition, such as its row in a page. Characters. */
const TEXT_COST = 256;
/** Parts whose bytes are not needed once they are read. */
const FINAL: ReadonlySet<string> = new Set(['body', 'stderr']);

/** A recording has more text than an export may have. */
export class TooLargeToExport extends Error {
  override readonly name = 'TooLargeToExport';
}

/**
 * Reads the HTTP exchanges, messages and lines of stderr of a recording.
 *
 * @param maxText the most characters of all parts, and of all bodies of HTTP, with 256 more for each of them. Default 256 Mi.
 * @throws TooLargeToExport, and what reading the records throws.
 */
export async function recordedWire(records: AsyncIterable<WireRecord>, maxText = MAX_TEXT): Promise<RecordedWire> {
  const reader = new WireReader(maxText);
  for await (const record of records) reader.add(record);
  return reader.wire();
}

/** The exchanges and parts that have some of these records. */
export function selectedWire({ exchanges, parts }: RecordedWire, has: (n: number) => boolean): RecordedWire {
  return { exchanges: exchanges.filter(({ records }) => records.some(has)), parts: parts.filter(({ n }) => has(n)) };
}

class WireReader {
  readonly #bytes = new StreamBytes(MAX_BYTES);
  readonly #roles = new Map<number, string>();
  /** The role of the connections that count. A bridge has those of its clients, in which it is the server, and those of its servers. */
  #role = 'client';
  readonly #open = new Map<string, RecordedExchange>();
  readonly #exchanges: RecordedExchange[] = [];
  readonly #parts: RecordedPart[] = [];
  readonly #maxText: number;
  /** The characters of all parts, and of all bodies. */
  #sizes = { parts: 0, bodies: 0 };

  constructor(maxText: number) {
    this.#maxText = maxText;
  }

  add(record: WireRecord): void {
    if (record.layer === 'open' && record.protocol !== 'app') this.#opened(record.conn, record.role);
    if (!('dir' in record)) return;
    const { n, t, conn, dir, layer, range } = record;
    // An app is not part of the wire.
    if (this.#roles.get(conn) !== this.#role) return;
    const stream = `${conn} ${dir}`;
    if (layer === 'bytes') {
      this.#bytes.add(stream, range[0], record.bytes);
      return;
    }
    const bytes = this.#bytes.read(stream, range);
    if (bytes === undefined) return;
    const text = new TextDecoder().decode(bytes);
    const exchange = this.#open.get(`${conn} ${record.exchange}`);
    exchange?.records.push(n);
    const from = dir === 'stderr' ? 'stderr' : dir === 'c>s' ? 'client' : 'server';
    const part = { n, t, conn, from } as const;
    if (layer === 'head')
      this.#head({ ...part, kind: 'head', text, title: text.split('\r\n', 1)[0]! }, record.exchange);
    else if (layer === 'message') this.#keep({ ...part, kind: 'message', text, title: titleOf(text) });
    else if (layer === 'stderr') this.#keep({ ...part, kind: 'stderr', text: text.trimEnd(), title: 'stderr' });
    else if (layer === 'frame' && exchange && from === 'server') {
      this.#count('bodies', text);
      exchange.responseBody += text;
      exchange.ended = t;
    } else if (layer === 'body' && exchange) this.#body(exchange, from, bytes, t);
    if (FINAL.has(layer)) this.#bytes.forget(stream, range.at(-1)!);
    // The message in a line comes after it.
    if (layer === 'line') this.#bytes.forget(stream, range[0]!);
  }

  wire(): RecordedWire {
    return { exchanges: this.#exchanges, parts: this.#parts };
  }

  #opened(conn: number, role: string): void {
    this.#roles.set(conn, role);
    if (role !== 'server' || this.#role === 'server') return;
    this.#role = 'server';
    this.#bytes.dropAll();
    this.#open.clear();
    this.#exchanges.length = this.#parts.length = 0;
    this.#sizes = { parts: 0, bodies: 0 };
  }

  #keep(part: RecordedPart): void {
    this.#count('parts', part.text);
    this.#parts.push(part);
  }

  #count(kind: 'parts' | 'bodies', text: string): void {
    this.#sizes[kind] += text.length + TEXT_COST;
    if (this.#sizes[kind] > this.#maxText) throw new TooLargeToExport();
  }

  #head(part: RecordedPart, number: number | undefined): void {
    this.#keep(part);
    const { n, t, conn, from, text } = part;
    const key = `${conn} ${number}`;
    if (from === 'client') {
      const exchange: RecordedExchange = {
        ...{ n, records: [n], conn, sent: t, request: readHead(text) },
        ...{ body: '', responseBody: '' },
      };
      this.#exchanges.push(exchange);
      this.#open.set(key, exchange);
      return;
    }
    const exchange = this.#open.get(key);
    if (exchange) Object.assign(exchange, { response: readHead(text), began: t, ended: t });
  }

  #body(exchange: RecordedExchange, from: string, bytes: Uint8Array, t: number): void {
    const head = from === 'client' ? exchange.request : exchange.response;
    const text = new TextDecoder().decode(head?.header('transfer-encoding') ? dechunked(bytes) : bytes);
    if (from === 'server') exchange.ended = t;
    // The frames of an event stream came one by one.
    if (from === 'server' && exchange.responseBody !== '') return;
    this.#count('bodies', text);
    if (from === 'client') exchange.body = text;
    else exchange.responseBody = text;
  }
}

/** The messages in a body: of JSON, a batch or an event stream. */
export function messagesIn(body: string): JsonObject[] {
  const texts = /^data:/m.test(body) ? Array.from(body.matchAll(/^data: ?(.*)$/gm), ([, data]) => data!) : [body];
  return texts.flatMap((text) => [jsonIn(text)].flat().filter(isObject));
}

/** What a message is, to show to users. */
function titleOf(text: string): string {
  const value = jsonIn(text);
  if (value === undefined) return 'not JSON';
  if (Array.isArray(value)) return 'batch';
  if (!isObject(value)) return 'not a message';
  const { method, params, error } = value;
  const name: unknown = isObject(params) ? (params['name'] ?? params['uri']) : undefined;
  if (typeof method === 'string') return typeof name === 'string' ? `${method} ${name}` : method;
  return error === undefined ? 'result' : 'error';
}

/** The origin of a request. A recording does not say whether it was over TLS, so only loopback has no TLS. */
export function originOf(request: HttpHead): string {
  const host = request.header('host') ?? 'localhost';
  const isLoopback = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(host);
  return `${isLoopback ? 'http' : 'https'}://${host}`;
}
