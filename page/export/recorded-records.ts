import type { WireRecord } from '../../src/inspect/record.ts';
import { lintRecordOf, sentRecord } from '../lint/sent-record.ts';
import type { RecordStore } from '../wire/record-store.ts';
import type { WireRecord as ShownRecord } from '../wire/wire-record.ts';

/** How long records are read before the page can draw again. Milliseconds. */
const SLICE_MS = 20;

/** The records of the page as a recording has them. Bytes that are no longer in memory are left out, and what Auth has sent. */
export async function* recordedRecords(store: RecordStore): AsyncGenerator<WireRecord, void> {
  let until = performance.now() + SLICE_MS;
  const opened = new Set<number | undefined>();
  // What comes later does not belong to it.
  for (const record of [...store.records]) {
    if (performance.now() > until) {
      await new Promise((resolve) => {
        setTimeout(resolve);
      });
      until = performance.now() + SLICE_MS;
    }
    if (record.layer === 'bytes' && record.content === undefined) continue;
    if (store.isAuthorization(record)) continue;
    const open = store.openOf(record.conn);
    // A connection is still known when the record that opened it is no longer kept.
    if (open && !opened.has(record.conn) && record.layer !== 'open') yield recorded(open);
    opened.add(record.conn);
    yield recorded(record);
  }
}

function recorded(record: ShownRecord): WireRecord {
  const { t, from, peer } = record;
  return { ...lintRecordOf(sentRecord(record)), t, from, peer } as unknown as WireRecord;
}
