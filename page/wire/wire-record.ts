import { bytesOfBinary } from '../../src/base/bytes.browser.ts';
import type { RequestId } from '../../src/jsonrpc/message.ts';
import type { Span } from '../../src/inspect/spans/span.ts';

/** Bytes in memory: as a text if all of them are ASCII, which is how they come and what filters read. */
export type Content = string | Uint8Array<ArrayBuffer>;

/** A record as the page keeps it. All have the same members in the same order, because that is fast. */
export interface WireRecord {
  readonly n: number;
  /** Microseconds since the capture began. */
  readonly t: number;
  readonly layer: string;
  readonly conn: number | undefined;
  readonly dir: string | undefined;
  readonly range: readonly number[] | undefined;
  readonly exchange: number | undefined;
  readonly note: string | undefined;
  readonly kind: string | undefined;
  readonly id: RequestId | undefined;
  readonly method: string | undefined;
  readonly protocol: string | undefined;
  readonly role: string | undefined;
  readonly peer: string | undefined;
  /** For the opening of a connection: what it is for, if not for messages. */
  readonly purpose: string | undefined;
  /** For a gap. */
  readonly from: number | undefined;
  /** For bytes, as long as they are in memory. */
  content: Content | undefined;
  /** The spans that it belongs to: at most one, except for a batch. */
  spans: readonly Span[];
}

/** Reads a line of a recording. The server has checked it: it wrote the line, or read it from a file. */
export function readLine(line: string): WireRecord {
  const fields = JSON.parse(line) as WireRecord & { data?: string; base64?: string };
  const { n, t, layer, conn, dir, range, exchange, note, kind, id, method, protocol, role, peer, purpose, from } =
    fields;
  const content = layer === 'bytes' ? contentOf(fields, range!) : undefined;
  const part = { n, t, layer, conn, dir, range, exchange, note, kind, id, method, protocol, role, peer, purpose, from };
  return Object.assign(part, { content, spans: NONE });
}

const NONE: readonly Span[] = [];
const encoder = new TextEncoder();

function contentOf({ data, base64 }: { data?: string; base64?: string }, range: readonly number[]): Content {
  if (data === undefined) return bytesOfBinary(atob(base64!));
  return data.length === range[1]! - range[0]! ? data : encoder.encode(data);
}

/** How many bytes a record is about. */
export function sizeOf(range: readonly number[]): number {
  let size = 0;
  for (let at = 1; at < range.length; at += 2) size += range[at]! - range[at - 1]!;
  return size;
}
