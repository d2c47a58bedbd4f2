import type { RecordStore } from '../wire/record-store.ts';
import type { WireRecord } from '../wire/wire-record.ts';

/** The numbers of all records of the calls and HTTP exchanges that some records belong to. */
export function selectionOf(records: Iterable<WireRecord>, store: RecordStore): ReadonlySet<number> {
  const numbers = new Set<number>();
  for (const { n, spans } of records) {
    numbers.add(n);
    for (const span of spans) {
      for (const each of span.records) numbers.add(each);
      if (span.answer !== undefined) numbers.add(span.answer);
    }
  }
  const exchanges = new Set<string>();
  for (const record of store.records)
    if (record.exchange !== undefined && numbers.has(record.n)) exchanges.add(exchangeOf(record));
  for (const record of store.records)
    if (record.exchange !== undefined && exchanges.has(exchangeOf(record))) numbers.add(record.n);
  return numbers;
}

function exchangeOf({ conn, exchange }: WireRecord): string {
  return `${conn} ${exchange}`;
}
