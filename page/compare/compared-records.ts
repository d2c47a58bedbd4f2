import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { comparable, comparableResult } from '../../src/replay/comparable.ts';
import { differ, type ValueDifference } from '../../src/replay/value-differences.ts';
import { messageOf } from '../wire/related.ts';
import type { RecordStore } from '../wire/record-store.ts';
import type { WireRecord } from '../wire/wire-record.ts';

/** The messages of two calls, or two other messages, side by side. */
export interface ComparedMessages {
  readonly title: 'Request' | 'Answer' | 'Message';
  /** Undefined if there is none, or if it is no longer in memory. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Undefined if they cannot be compared. At most 100. */
  readonly differences: readonly ValueDifference[] | undefined;
}

const MAX_KEPT = 100;

/** Compares two records: their calls, or else their messages. Ids and times do not count, as in `everwire compare`. */
export function comparedRecords(before: WireRecord, after: WireRecord, store: RecordStore): ComparedMessages[] {
  const [one, other] = [before.spans[0], after.spans[0]];
  const text = (n: number | undefined): string | undefined => {
    const record = n === undefined ? undefined : store.find(n);
    const message = record && messageOf(record, store);
    return message && store.text(message);
  };
  if (!one || !other) return [compared('Message', text(before.n), text(after.n))];
  return [
    compared('Request', text(one.records[0]), text(other.records[0])),
    compared('Answer', text(one.answer), text(other.answer)),
  ];
}

function compared(
  title: ComparedMessages['title'],
  before: string | undefined,
  after: string | undefined,
): ComparedMessages {
  const [one, other] = [contentOf(before), contentOf(after)];
  if (one === undefined || other === undefined) return { title, before, after, differences: undefined };
  const differences: ValueDifference[] = [];
  differ(one, other, (found) => {
    if (differences.length < MAX_KEPT) differences.push(found);
  });
  return { title, before, after, differences };
}

/** A message without what belongs to one call only. The entries of a list have their names. */
function contentOf(text: string | undefined): unknown {
  let message: unknown;
  try {
    message = text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(message)) return message;
  const { jsonrpc: _, id: __, result, ...others }: JsonObject = message;
  return isObject(result) ? { result: comparableResult(result) } : comparable(others);
}
