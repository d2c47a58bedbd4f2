import { expect, test } from 'vitest';
import type { WireRecord } from '../../src/inspect/record.ts';
import { RecordStore } from '../wire/record-store.ts';
import type { WireRecord as ShownRecord } from '../wire/wire-record.ts';
import { recordedRecords } from './recorded-records.ts';

/** A record of a connection over stdio, as the page has it. */
function record(n: number, fields: Partial<ShownRecord>): ShownRecord {
  return { n, t: n, conn: 1, spans: [], ...fields } as ShownRecord;
}

async function layersOf(store: RecordStore): Promise<string[]> {
  const found: WireRecord[] = [];
  for await (const each of recordedRecords(store)) found.push(each);
  return found.map(({ layer, n }) => `${layer} ${n}`);
}

const open = record(1, { layer: 'open', protocol: 'stdio', role: 'client' });

test('a connection whose opening is no longer kept is opened before its first record', async () => {
  const store = new RecordStore({ maxRecords: 4 });
  store.add([open]);
  for (let n = 2; n <= 6; n += 1) store.add([record(n, { layer: 'stderr', dir: 'stderr', range: [0, 1] })]);
  expect(store.records.map(({ layer }) => layer)).not.toContain('open');
  const [first, ...others] = await layersOf(store);
  expect(first).toBe('open 1');
  expect(others).toEqual(store.records.map(({ n }) => `stderr ${n}`));
});

test('a connection that is known is opened once, and bytes that are gone are left out', async () => {
  const store = new RecordStore({ maxBytes: 1 });
  const bytes = record(2, { layer: 'bytes', dir: 'c>s', range: [0, 2], content: 'ab' });
  store.add([open, bytes, record(3, { layer: 'close' })]);
  expect(await layersOf(store)).toEqual(['open 1', 'close 3']);
});
