import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { MAX_VALUES, parseJson, type JsonNode } from '../form/json-text.ts';
import { firstFrom, type RecordStore } from '../wire/record-store.ts';
import type { Outcome } from './request.ts';

/** The response to a request, as a record. */
export interface AnswerRecord {
  readonly n: number;
  /** The result as JSON text, with numbers as they were written. Undefined for an error. */
  readonly result: string | undefined;
}

/**
 * Finds the first message that has the same result or error. The page's server sends values, and only the wire has the text
 * that they were read from.
 *
 * @param after the number of the last record that is not searched: it was there before the request, or was searched before.
 */
export function answerRecord(
  store: Pick<RecordStore, 'records' | 'text' | 'sideOf'>,
  method: string,
  outcome: Outcome,
  after = 0,
): AnswerRecord | undefined {
  if (outcome.kind !== 'result' && outcome.kind !== 'error') return undefined;
  const member = outcome.kind;
  let wanted: string | undefined;
  const { records } = store;
  for (let at = firstFrom(records, after + 1); at < records.length; at += 1) {
    const record = records[at]!;
    const { n, layer, conn, dir, kind, spans } = record;
    // What an app gets is repeated from there.
    if (store.sideOf(conn) === 'app') continue;
    if (layer !== 'message' || dir !== 's>c' || kind !== member || spans[0]?.method !== method) continue;
    const text = store.text(record);
    const message = objectIn(text);
    if (!message) continue;
    if (outcome.kind === 'error') {
      const error: unknown = message['error'];
      if (isObject(error) && error['code'] === outcome.error.code && error['message'] === outcome.error.message)
        return { n, result: undefined };
      continue;
    }
    wanted ??= JSON.stringify(outcome.result);
    if (JSON.stringify(message['result']) === wanted) return { n, result: memberText(text!, 'result') };
  }
  return undefined;
}

/**
 * The text of a member of a JSON object. If it has several of the name, the last counts, as for `JSON.parse`. Undefined if
 * the object is too large for a tree.
 */
export function memberText(text: string, name: string): string | undefined {
  let node: JsonNode;
  try {
    node = parseJson(text, MAX_VALUES);
  } catch {
    return undefined;
  }
  return node.kind === 'object' ? node.members.findLast((member) => member.name === name)?.node.source : undefined;
}

/** Undefined for anything else: a record is a message by its brackets, and its JSON may be invalid. */
function objectIn(text: string | undefined): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
