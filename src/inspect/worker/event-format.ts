import type { WireConnection, WireStream } from '../../transport/wiretap.ts';
import type { WireEvent } from '../record.ts';

/** The kinds of events in a batch, as numbers. */
export const EventKind = { 'c>s': 0, 's>c': 1, stderr: 2, open: 3, close: 4, gap: 5 } as const;

const STREAMS: readonly WireStream[] = ['c>s', 's>c', 'stderr'];

/** The kind of an event with bytes of a stream. Faster than a lookup by a name that varies. */
export function kindOf(dir: WireStream): number {
  return dir === 'c>s' ? EventKind['c>s'] : dir === 's>c' ? EventKind['s>c'] : EventKind.stderr;
}

/** The offsets of the fields of an event: its connection, time, place and length of data. The kind is at 0. */
const CONN = 1;
const TIME = 5;
const PLACE = 13;
const LENGTH = 21;
/** How many bytes an event needs besides its data. */
export const EVENT_HEAD = 25;

/**
 * Writes an event without its data.
 *
 * @param place the offset of bytes, or the number of records that a gap stands for.
 */
export function writeEventHead(
  batch: Buffer,
  at: number,
  kind: number,
  conn: number,
  t: number,
  place: number,
  length: number,
): void {
  batch[at] = kind;
  batch.writeUInt32LE(conn, at + CONN);
  batch.writeDoubleLE(t, at + TIME);
  batch.writeDoubleLE(place, at + PLACE);
  batch.writeUInt32LE(length, at + LENGTH);
}

/** An event as it is in a batch. */
export function writeEvent(event: WireEvent): Buffer {
  const { t, layer } = event;
  if (layer === 'gap') return written(EventKind.gap, 0, t, event.count);
  const { conn } = event;
  if (layer === 'close') return written(EventKind.close, conn, t, 0);
  if (layer === 'bytes') return written(kindOf(event.dir), conn, t, event.range[0], event.bytes);
  const { protocol, role, peer } = event;
  return written(EventKind.open, conn, t, 0, Buffer.from(JSON.stringify({ protocol, role, peer })));
}

const NOTHING = Buffer.alloc(0);

function written(kind: number, conn: number, t: number, place: number, data: Uint8Array = NOTHING): Buffer {
  const event = Buffer.alloc(EVENT_HEAD + data.length);
  writeEventHead(event, 0, kind, conn, t, place, data.length);
  event.set(data, EVENT_HEAD);
  return event;
}

/** Reads the events of a batch. Their bytes share its memory. */
export function* readEvents(batch: Buffer): Generator<WireEvent, void> {
  for (let at = 0; at < batch.length;) {
    const kind = batch[at]!;
    const conn = batch.readUInt32LE(at + CONN);
    const t = batch.readDoubleLE(at + TIME);
    const place = batch.readDoubleLE(at + PLACE);
    const bytes = batch.subarray(at + EVENT_HEAD, at + EVENT_HEAD + batch.readUInt32LE(at + LENGTH));
    at += EVENT_HEAD + bytes.length;
    if (kind === EventKind.open) yield { t, layer: 'open', conn, ...(JSON.parse(bytes.toString()) as WireConnection) };
    else if (kind === EventKind.close) yield { t, layer: 'close', conn };
    else if (kind === EventKind.gap) yield { t, layer: 'gap', count: place };
    else yield { t, conn, dir: STREAMS[kind]!, layer: 'bytes', range: [place, place + bytes.length], bytes };
  }
}
