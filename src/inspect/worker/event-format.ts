import type { WireConnection, WireStream } from '../../transport/wiretap.ts';
import type { WireEvent } from '../record.ts';
import type { LeftOutEvents } from './left-out-events.ts';

/** The kinds of events in a batch, as numbers. */
export const EventKind = { 'c>s': 0, 's>c': 1, stderr: 2, open: 3, close: 4, gap: 5 } as const;

const STREAMS: readonly WireStream[] = ['c>s', 's>c', 'stderr'];

/** The kind of an event with bytes of a stream. Faster than a lookup by a name that varies. */
export function kindOf(dir: WireStream): number {
  return dir === 'c>s' ? EventKind['c>s'] : dir === 's>c' ? EventKind['s>c'] : EventKind.stderr;
}

/** The offsets of the fields of an event: its connection, time, place and length of data. The kind is at 0. */
const CONN = 4;
const TIME = 8;
const PLACE = 16;
const LENGTH = 24;
/** Where the data of an event begins. */
export const EVENT_HEAD = 32;

/** The size of an event, a multiple of 8: V8 copies unaligned bytes to shared memory one by one. */
export function eventSize(length: number): number {
  return (EVENT_HEAD + length + 7) & ~7;
}

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
  const event = Buffer.alloc(eventSize(data.length));
  writeEventHead(event, 0, kind, conn, t, place, data.length);
  event.set(data, EVENT_HEAD);
  return event;
}

/** Reads the events of a batch. Their bytes share its memory. */
export function* readEvents(batch: Buffer): Generator<WireEvent, void> {
  for (let at = 0; at < batch.length; at += sizeAt(batch, at)) yield readEvent(batch, at);
}

/** Leaves out the events of a batch. */
export function leaveOutEvents(batch: Buffer, leftOut: LeftOutEvents): void {
  for (let at = 0; at < batch.length; at += sizeAt(batch, at)) {
    // An object for each chunk would cost more than all else that is done for it.
    if (batch[at]! < STREAMS.length) leftOut.addBytes();
    else leftOut.add(readEvent(batch, at));
  }
}

function sizeAt(batch: Buffer, at: number): number {
  return eventSize(batch.readUInt32LE(at + LENGTH));
}

function readEvent(batch: Buffer, at: number): WireEvent {
  const kind = batch[at]!;
  const conn = batch.readUInt32LE(at + CONN);
  const t = batch.readDoubleLE(at + TIME);
  const place = batch.readDoubleLE(at + PLACE);
  const bytes = batch.subarray(at + EVENT_HEAD, at + EVENT_HEAD + batch.readUInt32LE(at + LENGTH));
  if (kind === EventKind.open) return { t, layer: 'open', conn, ...(JSON.parse(bytes.toString()) as WireConnection) };
  if (kind === EventKind.close) return { t, layer: 'close', conn };
  if (kind === EventKind.gap) return { t, layer: 'gap', count: place };
  return { t, conn, dir: STREAMS[kind]!, layer: 'bytes', range: [place, place + bytes.length], bytes };
}
