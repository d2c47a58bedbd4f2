import type { RequestId } from '../jsonrpc/message.ts';
import type { WireConnection, WireStream } from '../transport/wiretap.ts';

/**
 * Which bytes of a stream: start and end of each piece, one after the other (`[start, end, start, end, …]`). Offsets
 * count from the first byte of the stream, and an end is exclusive. Most records have one piece. An SSE frame that
 * several HTTP chunks carry has several.
 */
export type ByteRange = readonly number[];

/**
 * The kinds of parts that the upper layers find in the bytes.
 *
 * - `head`: the first line and the headers of an HTTP message, with the empty line that ends them.
 * - `chunk`: one chunk of a chunked HTTP body, with its size line.
 * - `body`: a whole HTTP body, with its chunk sizes and trailers. A body without bytes has no record.
 * - `frame`: one server-sent event or comment, with the empty line that ends it.
 * - `line`: one line of stdio, with its line end.
 * - `stderr`: one line of stderr, with its line end.
 * - `message`: a JSON-RPC message or batch, without its framing.
 */
export type PartLayer = 'head' | 'chunk' | 'body' | 'frame' | 'line' | 'stderr' | 'message';

/** The kind of a JSON-RPC message. */
export type MessageKind = 'request' | 'notification' | 'result' | 'error' | 'batch';

/** A part of a stream that an upper layer found. It has no copy of the bytes. */
export interface Part {
  readonly layer: PartLayer;
  readonly range: ByteRange;
  /** For HTTP: which request of the connection it belongs to, or answers. The first is 1. */
  exchange?: number | undefined;
  /** What is malformed or incomplete. */
  readonly note?: string | undefined;
  /** The kind of a message. Undefined for other parts. */
  readonly kind?: MessageKind | undefined;
  /** The id of a message, if it has one of at most 64 bytes. */
  readonly id?: RequestId | undefined;
  /** The method of a request or notification, if it has at most 64 bytes. */
  readonly method?: string | undefined;
}

/** Receives the parts of a stream, in the order in which they end. */
export type OnPart = (part: Part) => void;

/** What every record has. */
export interface NumberedRecord {
  /** The number of the record. The first is 1, and a `gap` record stands for missing numbers. */
  readonly n: number;
  /** When it was recorded: microseconds since the capture began. */
  readonly t: number;
}

/** A connection opened. */
export interface OpenRecord extends NumberedRecord, WireConnection {
  readonly layer: 'open';
  /** The number of the connection. The first is 1. */
  readonly conn: number;
}

/** A connection closed. */
export interface CloseRecord extends NumberedRecord {
  readonly layer: 'close';
  readonly conn: number;
}

/** Bytes as they were on the wire, at most 64 KiB. */
export interface BytesRecord extends NumberedRecord {
  readonly layer: 'bytes';
  readonly conn: number;
  readonly dir: WireStream;
  readonly range: readonly [start: number, end: number];
  readonly bytes: Buffer;
  /** The bytes that are masked when they leave the process. */
  readonly secret?: ByteRange | undefined;
}

/** A part that the upper layers found. Its record follows that of the bytes which complete it. */
export interface PartRecord extends NumberedRecord, Part {
  readonly conn: number;
  readonly dir: WireStream;
}

/** Records that are missing: those from `from` to `n`, both included. */
export interface GapRecord extends NumberedRecord {
  readonly layer: 'gap';
  readonly from: number;
}

/** One entry of a capture. */
export type WireRecord = OpenRecord | CloseRecord | BytesRecord | PartRecord | GapRecord;

/** Whether a record is a part that an upper layer found. Such records can be computed from the others. */
export function isPart(record: WireRecord): record is PartRecord {
  return 'dir' in record && record.layer !== 'bytes';
}

/** What happens on the wire. All records are computed from these events. */
export type WireEvent =
  | Omit<OpenRecord, 'n'>
  | Omit<CloseRecord, 'n'>
  | Omit<BytesRecord, 'n'>
  | (Omit<GapRecord, 'n' | 'from'> & {
      /** How many records are missing, at least. */
      readonly count: number;
    });
