import { curlScript } from '../../src/export/curl.ts';
import { harLog } from '../../src/export/har.ts';
import { Masks } from '../../src/export/masks.ts';
import { htmlPage } from '../../src/export/page.ts';
import { recordedWire, selectedWire } from '../../src/export/recorded-wire.ts';
import { vitestFile } from '../../src/export/vitest-file.ts';
import { callsOf } from '../../src/mock/calls-of.ts';
import type { RecordStore } from '../wire/record-store.ts';
import { recordedRecords } from './recorded-records.ts';

/** The forms, as `everwire export` has them. */
export type ExportForm = 'html' | 'har' | 'curl' | 'vitest';

/** What is exported. */
export interface ExportSource {
  readonly store: RecordStore;
  /** To show to users. */
  readonly name: string;
  readonly started: Date;
  /** The numbers of the records to export. Undefined: all. */
  readonly selection: ReadonlySet<number> | undefined;
}

/**
 * Writes records of the wire in another form, without secrets. A secret of any record is masked in all records.
 *
 * @throws Error with a message for users if the selection has nothing that this form can show.
 */
export async function exportText({ store, name, started, selection }: ExportSource, form: ExportForm): Promise<string> {
  const whole = await recordedWire(recordedRecords(store));
  const has = (n: number): boolean => selection?.has(n) !== false;
  const wire = selectedWire(whole, has);
  const masks = new Masks(whole);
  const time = started.toISOString();
  if (form === 'html') return htmlPage(wire, name, time, masks);
  if (form !== 'vitest') {
    if (wire.exchanges.length === 0) throw new Error('The selection has no HTTP. Choose HTML or Vitest.');
    return form === 'har' ? harLog(wire.exchanges, time, masks) : curlScript(wire.exchanges, masks);
  }
  const calls = await callsOf(recordedRecords(store));
  if (!calls.some(({ n }) => has(n)))
    throw new Error('No request of the selection was answered, so there is nothing to test.');
  return vitestFile(calls, wire, name, masks, has);
}
