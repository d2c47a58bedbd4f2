import type { ConnectionTap, WireConnection, Wiretap, WireStream } from '../transport/wiretap.ts';
import type { WireEvent } from './record.ts';

/** The most bytes of one event, so that a line of a recording has a limit. */
export const MAX_BYTES = 64 * 1024;

/**
 * Tells what happens on connections. It does not copy: the bytes may change after the call.
 *
 * @param now the time in microseconds.
 */
export function wireEvents(now: () => number, onevent: (event: WireEvent) => void): Wiretap {
  let connections = 0;
  return {
    open(connection: WireConnection): ConnectionTap {
      connections += 1;
      const conn = connections;
      const { protocol, role, peer } = connection;
      onevent({ t: now(), layer: 'open', conn, protocol, role, peer });
      const ends: Record<WireStream, number> = { 'c>s': 0, 's>c': 0, stderr: 0 };
      let open = true;
      return {
        bytes(dir, chunk) {
          if (!open) return;
          for (let at = 0; at < chunk.length; at += MAX_BYTES) {
            const bytes = chunk.length <= MAX_BYTES ? chunk : chunk.subarray(at, at + MAX_BYTES);
            const start = ends[dir];
            ends[dir] = start + bytes.length;
            onevent({ t: now(), conn, dir, layer: 'bytes', range: [start, ends[dir]], bytes });
          }
        },
        close() {
          if (!open) return;
          open = false;
          onevent({ t: now(), layer: 'close', conn });
        },
      };
    },
  };
}
