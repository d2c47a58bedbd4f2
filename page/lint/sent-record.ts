import type { LintRecord } from '../../src/lint/lint-record.ts';
import type { Content, WireRecord } from '../wire/wire-record.ts';

/** A record as it is sent to the linter. */
export type SentRecord = Omit<LintRecord, 'bytes'> & { readonly content?: Content | undefined };

/** What the linter needs of a record. Fields without a value would cost time. */
export function sentRecord(record: WireRecord): SentRecord {
  const { n, layer, conn, dir, range, content, exchange, note, kind, id, method } = record;
  if (layer === 'bytes') return { n, layer, conn, dir, range, content };
  if (layer === 'open') return { n, layer, conn, protocol: record.protocol, role: record.role };
  if (layer === 'message') return { n, layer, conn, dir, range, exchange, note, kind, id, method };
  if (dir === undefined) return { n, layer, conn, note };
  return { n, layer, conn, dir, range, exchange, note };
}

const encoder = new TextEncoder();

/** The record as the linter takes it. */
export function lintRecordOf({ content, ...record }: SentRecord): LintRecord {
  return { ...record, bytes: typeof content === 'string' ? encoder.encode(content) : content };
}
