import { Oldest } from '../../base/oldest.ts';
import { sizeOf } from '../../inspect/range-size.ts';
import type { LintRecord } from '../lint-record.ts';
import { HttpConversations } from './conversations.ts';
import type { WireEvent } from './events.ts';
import { HttpConnection } from './http-connection.ts';
import type { PartOfStream } from './part.ts';
import { StdioConnection } from './stdio-connection.ts';
import { StreamBytes } from './stream-bytes.ts';

const MAX_CONNECTIONS = 10_000;
/** A larger part is not read: nothing is known about it. Bytes. */
const MAX_PART = 4 * 1024 * 1024;
/** Parts whose bytes are not needed once they are read. */
const FINAL: ReadonlySet<string> = new Set(['head', 'body', 'message', 'stderr']);

/** Turns records into events, and keeps what is needed to understand later ones. */
export class WireModel {
  readonly #bytes: StreamBytes;
  readonly #connections = new Map<number, HttpConnection | StdioConnection>();
  readonly #oldest = new Oldest(this.#connections);
  readonly #conversations = new HttpConversations();
  /** How far each stream is read. */
  readonly #read = new Map<string, number>();

  /** @param maxBytes bytes that are kept until a part is found in them. */
  constructor(maxBytes: number) {
    this.#bytes = new StreamBytes(maxBytes);
  }

  /**
   * The events of the next record. Each is to be judged before the next one is requested, because what is known changes
   * with them.
   */
  *add(record: LintRecord): Generator<WireEvent> {
    const { layer, conn, dir, range } = record;
    if (layer === 'gap') this.#lose();
    if (conn === undefined) return;
    if (layer === 'open') this.#open(conn, record);
    else if (layer === 'close') yield* this.#close(conn);
    if (dir === undefined || range === undefined) return;
    const stream = `${conn} ${dir}`;
    if (layer === 'bytes') {
      this.#bytes.forget(stream, this.#read.get(stream) ?? 0);
      // The connection is unknown if its opening is missing. Then there are no parts.
      if (record.bytes && this.#connections.has(conn)) this.#bytes.add(stream, range[0]!, record.bytes);
      return;
    }
    const connection = this.#connections.get(conn);
    if (!connection) return;
    yield* connection.part(partOf(record, dir, range, () => this.#bytes.read(stream, range)));
    // The message in a frame comes after it.
    if (layer === 'frame') this.#readTo(stream, range[0]!);
    if (FINAL.has(layer) || (layer === 'line' && connection instanceof StdioConnection))
      this.#readTo(stream, range.at(-1)!);
  }

  #readTo(stream: string, offset: number): void {
    this.#read.set(stream, Math.max(this.#read.get(stream) ?? 0, offset));
  }

  #open(conn: number, { protocol, role = '' }: LintRecord): void {
    // The rules are about the wire, and not about an app.
    if (protocol === 'app') return;
    this.#connections.set(
      conn,
      protocol === 'http' ? new HttpConnection(conn, role, this.#conversations) : new StdioConnection(),
    );
    if (this.#connections.size <= MAX_CONNECTIONS) return;
    const oldest = this.#oldest.take()!;
    this.#forget(oldest);
  }

  *#close(conn: number): Generator<WireEvent> {
    const connection = this.#connections.get(conn);
    if (connection instanceof HttpConnection) yield* connection.close();
    this.#forget(conn);
  }

  #forget(conn: number): void {
    this.#connections.delete(conn);
    for (const dir of ['c>s', 's>c', 'stderr']) {
      this.#bytes.drop(`${conn} ${dir}`);
      this.#read.delete(`${conn} ${dir}`);
    }
  }

  /** Records are missing, and anything may have been in them. */
  #lose(): void {
    this.#bytes.dropAll();
    for (const connection of this.#connections.values()) connection.lose();
    this.#conversations.lose();
  }
}

function partOf(
  { n, layer, exchange, note }: LintRecord,
  dir: string,
  range: readonly number[],
  read: () => Uint8Array | undefined,
): PartOfStream {
  const isTooLarge = sizeOf(range) > MAX_PART;
  return { n, layer, dir, range, exchange, note, isTooLarge, bytes: () => (isTooLarge ? undefined : read()) };
}
