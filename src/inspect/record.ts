import type { RequestId } from '../jsonrpc/message.ts';
import type { WireConnection, WireStream } from '../transport/wiretap.ts';

/**
 * Which bytes of a stream: start and end of each piece, one after the other (`[start, end, start, end, …]`). Offsets
 * count from the first byte of the stream, and an end is exclusive. Most records have one piece. An SSE frame that
 * several HTTP chunks carry has several.
 */
export type ByteRange = readonly number[];

/**
 * What the upper layers find in the bytes. It has no copy of them.
 *
 * - `head`: the first line and the headers of an HTTP message, with the empty line that ends them.
 * - `chunk`: one chunk of a chunked HTTP body, with its size line.
 * - `body`: a whole HTTP body, with its chunk sizes and trailers. A body without bytes has no record.
 * - `frame`: one server-sent event or comment, with the empty line that ends it.
 * - `line`: one line of stdio, with its line end.
 * - `stderr`: one line of stderr, with its line end.
 * - `message`: a JSON-RPC message or batch, without what frames it.
 */
export type PartLayer = 'head' | 'chunk' | 'body' | 'frame' | 'line' | 'stderr' | 'message';

/** What a JSON-RPC message is. */
export type MessageKind = 'request' | 'notification' | 'result' | 'error' | 'batch';

/** A part of a stream, as the layer above the bytes sees it. */
export interface Part {
  readonly layer: PartLayer;
  readonly range: ByteRange;
  /** For HTTP: which request of the connection it belongs to, or answers. The first is 1. */
  exchange?: number | undefined;
  /** What is malformed or incomplete. */
  readonly note?: string | undefined;
  /** For a message. */
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
  /** The number of the record. The first is 1, and none is left out. */
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

/** Bytes as they passed, at most 64 KiB. */
export interface BytesRecord extends NumberedRecord {
  readonly layer: 'bytes';
  readonly conn: number;
  readonly dir: WireStream;
  readonly range: readonly [start: number, end: number];
  readonly bytes: Buffer;
  /** The bytes that are masked when they leave the process. */
  readonly secret?: ByteRange | undefined;
}

/** What the upper layers found. It follows the bytes that complete it. */
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

/** Whether a record says what an upper layer found. Such records follow from the others. */
export function isPart(record: WireRecord): record is PartRecord {
  return 'dir' in record && record.layer !== 'bytes';
}

/** What happens on the wire. All records follow from it. */
export type WireEvent =
  | Omit<OpenRecord, 'n'>
  | Omit<CloseRecord, 'n'>
  | Omit<BytesRecord, 'n'>
  | (Omit<GapRecord, 'n' | 'from'> & {
      /** How many records are missing, at least. */
      readonly count: number;
    });
