import type { WireConnection, WireStream } from '../../transport/wiretap.ts';
import type { WireEvent } from '../record.ts';

const STREAMS: readonly WireStream[] = ['c>s', 's>c', 'stderr'];
/** The kinds of events. The kind of bytes is the index of their stream. */
const OPEN = 3;
const CLOSE = 4;
const GAP = 5;

/** Where the parts of an event begin: its kind (1 byte), its connection, its time, its place, and the length of its data. */
const CONN = 1;
const TIME = 5;
const PLACE = 13;
const LENGTH = 21;
const DATA = 25;

const NOTHING = Buffer.alloc(0);

/** What an event is in memory that passes from one thread to another. */
export interface EncodedEvent {
  readonly kind: number;
  readonly conn: number;
  readonly t: number;
  /** The offset of bytes, or the number of records that a gap stands for. */
  readonly place: number;
  readonly data: Buffer;
}

export function encodeEvent(event: WireEvent): EncodedEvent {
  const { t, layer } = event;
  switch (layer) {
    case 'bytes':
      return { kind: STREAMS.indexOf(event.dir), conn: event.conn, t, place: event.range[0], data: event.bytes };
    case 'open': {
      const { conn, protocol, role, peer } = event;
      return { kind: OPEN, conn, t, place: 0, data: Buffer.from(JSON.stringify({ protocol, role, peer })) };
    }
    case 'close':
      return { kind: CLOSE, conn: event.conn, t, place: 0, data: NOTHING };
    default:
      return { kind: GAP, conn: 0, t, place: event.count, data: NOTHING };
  }
}

export function sizeOf({ data }: EncodedEvent): number {
  return DATA + data.length;
}

export function writeEvent(batch: Buffer, at: number, { kind, conn, t, place, data }: EncodedEvent): void {
  batch[at] = kind;
  batch.writeUInt32LE(conn, at + CONN);
  batch.writeDoubleLE(t, at + TIME);
  batch.writeDoubleLE(place, at + PLACE);
  batch.writeUInt32LE(data.length, at + LENGTH);
  batch.set(data, at + DATA);
}

/** Reads the events of a batch. Their bytes are parts of it. */
export function* readEvents(batch: Buffer): Generator<WireEvent, void> {
  for (let at = 0; at < batch.length;) {
    const kind = batch[at]!;
    const conn = batch.readUInt32LE(at + CONN);
    const t = batch.readDoubleLE(at + TIME);
    const place = batch.readDoubleLE(at + PLACE);
    const bytes = batch.subarray(at + DATA, at + DATA + batch.readUInt32LE(at + LENGTH));
    at += DATA + bytes.length;
    if (kind === OPEN) yield { t, layer: 'open', conn, ...(JSON.parse(bytes.toString()) as WireConnection) };
    else if (kind === CLOSE) yield { t, layer: 'close', conn };
    else if (kind === GAP) yield { t, layer: 'gap', count: place };
    else yield { t, conn, dir: STREAMS[kind]!, layer: 'bytes', range: [place, place + bytes.length], bytes };
  }
}
