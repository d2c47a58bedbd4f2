import type { ConnectionTap, WireConnection, Wiretap, WireStream } from '../transport/wiretap.ts';

/** The most bytes of one event. This also limits the lines of a recording. */
const MAX_BYTES = 64 * 1024;

/** Receives what happens on connections. Times are in microseconds. */
export interface WireEventSink {
  open(t: number, conn: number, connection: WireConnection): void;
  /** @param start where the bytes begin in their stream. The bytes may change after the call. */
  bytes(t: number, conn: number, dir: WireStream, start: number, bytes: Buffer): void;
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
      const ends: Record<WireStream, number> = { 'c>s': 0, 's>c': 0, stderr: 0 };
      let open = true;
      return {
        bytes(dir, chunk) {
          if (!open) return;
          const t = now();
          for (let at = 0; at < chunk.length; at += MAX_BYTES) {
            const bytes = chunk.length <= MAX_BYTES ? chunk : chunk.subarray(at, at + MAX_BYTES);
            const start = ends[dir];
            ends[dir] = start + bytes.length;
            sink.bytes(t, conn, dir, start, bytes);
          }
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
