import { Oldest } from '../base/oldest.ts';
import type { WireProtocol, WireStream } from '../transport/wiretap.ts';
import { readersFor, type StreamReader } from './layers.ts';
import type { Part, WireEvent, WireRecord } from './record.ts';

type Bytes = Extract<WireEvent, { layer: 'bytes' }>;

/**
 * Turns wire events into numbered records, and adds the parts that the upper layers find in the bytes. The same events
 * always give the same records.
 */
export class Layering {
  readonly #onrecord: (record: WireRecord) => void;
  readonly #parts: boolean;
  readonly #maxConnections: number;
  readonly #connections = new Map<number, LayeredConnection>();
  readonly #oldest = new Oldest(this.#connections);
  #n = 0;

  /**
   * @param parts whether the upper layers become records. Secrets are found in any case.
   * @param maxConnections the most open connections in which parts are found. Above this, the oldest gets no more parts.
   */
  constructor(onrecord: (record: WireRecord) => void, parts: boolean, maxConnections = Infinity) {
    this.#onrecord = onrecord;
    this.#parts = parts;
    this.#maxConnections = maxConnections;
  }

  add(event: WireEvent): void {
    switch (event.layer) {
      case 'open': {
        const { t, layer, conn, protocol, role, peer, purpose } = event;
        this.#connections.set(conn, new LayeredConnection(protocol, this.#parts));
        if (this.#connections.size > this.#maxConnections) this.#connections.delete(this.#oldest.take()!);
        return this.#onrecord({
          ...{ n: this.#next(), t, layer, conn, protocol, role, peer },
          ...(purpose && { purpose }),
        });
      }
      case 'bytes':
        return this.#bytes(event);
      case 'close': {
        const { t, layer, conn } = event;
        this.#connections.get(conn)?.end((dir, parts) => this.#pushParts(t, conn, dir, parts));
        this.#connections.delete(conn);
        return this.#onrecord({ n: this.#next(), t, layer, conn });
      }
      default: {
        const from = this.#n + 1;
        this.#n += event.count;
        this.#onrecord({ n: this.#n, t: event.t, layer: 'gap', from });
      }
    }
  }

  #bytes(event: Bytes): void {
    const { t, conn, dir, range, bytes } = event;
    // The connection is unknown if the record of its opening is missing.
    const stream = this.#connections.get(conn)?.stream(dir);
    stream?.push(range[0], bytes);
    const secret = stream?.takeSecret() ?? event.secret;
    this.#onrecord({ n: this.#next(), t, conn, dir, layer: 'bytes', range, secret, bytes });
    if (stream) this.#pushParts(t, conn, dir, stream.takeParts());
  }

  #pushParts(t: number, conn: number, dir: WireStream, parts: readonly Part[]): void {
    for (const { layer, range, exchange, note, kind, id, method } of parts) {
      // Each member is named, so that all records have one shape. This is faster than a spread.
      this.#onrecord({ n: this.#next(), t, conn, dir, layer, range, exchange, note, kind, id, method });
    }
  }

  #next(): number {
    this.#n += 1;
    return this.#n;
  }
}

/** The streams of one connection. */
class LayeredConnection {
  readonly #create: ReturnType<typeof readersFor>;
  readonly #streams = new Map<WireStream, LayeredStream>();

  constructor(protocol: WireProtocol, parts: boolean) {
    this.#create = readersFor(protocol, parts);
  }

  stream(dir: WireStream): LayeredStream {
    let stream = this.#streams.get(dir);
    if (!stream) this.#streams.set(dir, (stream = new LayeredStream(dir, this.#create)));
    return stream;
  }

  end(onparts: (dir: WireStream, parts: readonly Part[]) => void): void {
    for (const [dir, stream] of this.#streams) onparts(dir, stream.end());
  }
}

const NONE: readonly Part[] = [];

/** The reader of one stream, and what it has found. */
class LayeredStream {
  readonly #reader: StreamReader;
  #end = 0;
  #parts: Part[] = [];
  #secret: number[] = [];

  constructor(dir: WireStream, create: ReturnType<typeof readersFor>) {
    this.#reader = create(dir, {
      onpart: (part) => this.#parts.push(part),
      onsecret: (start, end) => this.#secret.push(start, end),
    });
  }

  push(start: number, bytes: Buffer): void {
    if (start > this.#end) this.#reader.skip(start - this.#end);
    this.#end = start + bytes.length;
    this.#reader.push(bytes);
  }

  end(): readonly Part[] {
    this.#reader.end();
    return this.takeParts();
  }

  takeParts(): readonly Part[] {
    if (this.#parts.length === 0) return NONE;
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  takeSecret(): readonly number[] | undefined {
    if (this.#secret.length === 0) return undefined;
    const secret = this.#secret;
    this.#secret = [];
    return secret;
  }
}
