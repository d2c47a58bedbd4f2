import type { ConnectionTap, WireConnection, Wiretap } from '../transport/wiretap.ts';
import { startClock } from './clock.ts';
import type { WireRecord } from './record.ts';
import { RecordLog, type CaptureOptions, type RecordsOptions } from './record-log.ts';
import { wireEvents } from './wire-events.ts';

/**
 * Records the bytes of connections, and the messages and other parts found in them. Give it to transports as their
 * `wiretap`. It keeps the newest records in memory, and drops the oldest.
 */
export class Capture implements Wiretap {
  /** When the capture began. The times of records count from here. */
  readonly started: Date;
  readonly #log: RecordLog;
  readonly #events: Wiretap;

  constructor(options: CaptureOptions = {}) {
    const { started, now } = startClock();
    this.started = started;
    const log = new RecordLog(started, options);
    this.#log = log;
    this.#events = wireEvents(now, {
      open: (t, conn, { protocol, role, peer, purpose }) =>
        log.add({ t, layer: 'open', conn, protocol, role, peer, ...(purpose && { purpose }) }),
      bytes: (t, conn, dir, start, bytes) => {
        const range = [start, start + bytes.length] as const;
        log.add({ t, conn, dir, layer: 'bytes', range, bytes: Buffer.from(bytes) });
      },
      close: (t, conn) => log.add({ t, layer: 'close', conn }),
    });
  }

  /** The number of the newest record. 0 if there is none. */
  get newest(): number {
    return this.#log.newest;
  }

  /** @internal The next records after a number, as far as they are in memory: at most 1,000 and about 1 MiB. */
  after(n: number): readonly WireRecord[] {
    return this.#log.after(n);
  }

  /** Begins to record a connection. Called by transports. */
  open(connection: WireConnection): ConnectionTap {
    return this.#events.open(connection);
  }

  /**
   * Reads the records until the capture is closed: first those in memory, then new ones. A reader that is slower than
   * the traffic costs no memory: it gets a `gap` record in place of the records that were dropped before it read them.
   */
  records(options: RecordsOptions = {}): AsyncGenerator<readonly WireRecord[], void> {
    return this.#log.records(options);
  }

  /** Ends the capture. Readers still get the records that they have not read. */
  close(): void {
    this.#log.close();
  }
}
