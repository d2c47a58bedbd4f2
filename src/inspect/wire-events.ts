import type { ConnectionTap, WireConnection, Wiretap, WireStream } from '../transport/wiretap.ts';

/** The most bytes of one event. This also limits the lines of a recording. */
const MAX_BYTES = 64 * 1024;
/** A text of this length has at most `MAX_BYTES` in any encoding. */
const MAX_TEXT = Math.floor(MAX_BYTES / 3);

/** Receives what happens on connections. Times are in microseconds. */
export interface WireEventSink {
  open(t: number, conn: number, connection: WireConnection): void;
  /** @param start where the bytes begin in their stream. The bytes may change after the call. */
  bytes(t: number, conn: number, dir: WireStream, start: number, bytes: Buffer): void;
  /** Like `bytes`, for a text of at most 64 KiB in any encoding. Returns its length in bytes. Default: `bytes`. */
  text?(t: number, conn: number, dir: WireStream, start: number, text: string, encoding: BufferEncoding): number;
  close(t: number, conn: number): void;
}

/** Numbers connections, and counts the bytes of their streams. */
export function wireEvents(now: () => number, sink: WireEventSink): Wiretap {
  let connections = 0;
  return {
    open(connection: WireConnection): ConnectionTap {
      connections += 1;
      const conn = connections;
      sink.open(now(), conn, connection);
      const ends = { 'c>s': 0, 's>c': 0, stderr: 0 };
      let open = true;
      const bytes = (dir: WireStream, chunk: Buffer): void => {
        if (!open) return;
        const t = now();
        for (let at = 0; at < chunk.length; at += MAX_BYTES) {
          const part = chunk.length <= MAX_BYTES ? chunk : chunk.subarray(at, at + MAX_BYTES);
          sink.bytes(t, conn, dir, addTo(ends, dir, part.length), part);
        }
      };
      return {
        bytes,
        text(dir, text, encoding) {
          if (!sink.text || text.length > MAX_TEXT) bytes(dir, Buffer.from(text, encoding));
          else if (open && text.length > 0)
            addTo(ends, dir, sink.text(now(), conn, dir, addTo(ends, dir, 0), text, encoding));
        },
        close() {
          if (!open) return;
          open = false;
          sink.close(now(), conn);
        },
      };
    },
  };
}

/** Where each stream of a connection ends. */
interface Ends {
  'c>s': number;
  's>c': number;
  stderr: number;
}

/** Adds to the end of a stream, and returns where it was. Faster than with a name that varies. */
function addTo(ends: Ends, dir: WireStream, length: number): number {
  const before = dir === 'c>s' ? ends['c>s'] : dir === 's>c' ? ends['s>c'] : ends.stderr;
  if (dir === 'c>s') ends['c>s'] = before + length;
  else if (dir === 's>c') ends['s>c'] = before + length;
  else ends.stderr = before + length;
  return before;
}
