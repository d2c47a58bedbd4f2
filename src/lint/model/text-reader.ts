import { excessOf } from '../../jsonrpc/bounds.ts';
import { jsonIn } from '../../jsonrpc/json-in.ts';
import { isObject } from '../../jsonrpc/message.ts';
import type { MalformedEvent, WireEvent } from './events.ts';
import { MAX_BATCH } from './exchange.ts';
import { readMessage, type MessagePlace } from './messages.ts';
import type { PartOfStream } from './part.ts';
import { decodeAnyway, decodeUtf8 } from './text.ts';

/** Deeper or larger messages are not parsed, because they take too long: nothing is known about them. */
const MAX_DEPTH = 500;
const MAX_KEYS_AND_VALUES = 50_000;
/** How much of a text a finding may show, in UTF-16 code units. */
const MAX_SHOWN = 200;

/** What a text is: a value, or what is wrong with it. */
export type ReadText =
  | { readonly value: unknown; readonly size: number }
  | { readonly problem: 'not UTF-8' | 'not JSON'; readonly text: string }
  | { readonly isTooLarge: true };

/** The text of a part. Undefined if bytes are missing. */
export function readPart(part: PartOfStream): ReadText | undefined {
  if (part.isTooLarge) return { isTooLarge: true };
  const bytes = part.bytes();
  return bytes && readText(bytes);
}

export function readText(bytes: Uint8Array): ReadText {
  const text = decodeUtf8(bytes);
  if (text === undefined) return { problem: 'not UTF-8', text: decodeAnyway(bytes.subarray(0, MAX_SHOWN)) };
  if (excessOf(text, MAX_DEPTH, MAX_KEYS_AND_VALUES) !== undefined) return { isTooLarge: true };
  const value = jsonIn(text);
  return value === undefined ? { problem: 'not JSON', text: text.slice(0, MAX_SHOWN) } : { value, size: text.length };
}

/** The events of a text that looks like a message or a batch. */
export function* eventsOfText(
  read: ReadText | undefined,
  place: Omit<MessagePlace, 'inBatch' | 'size'>,
  revisions: MalformedEvent['revisions'],
): Generator<WireEvent> {
  const { conversation, exchange, from, n, others = [] } = place;
  const records = [n, ...others];
  const { carriage } = conversation;
  if (read === undefined || 'isTooLarge' in read) {
    // A message that is not known may be any request or answer.
    conversation.lose();
    if (read) yield { on: 'unread', event: { records, revisions, from } };
    return;
  }
  if ('problem' in read) {
    yield { on: 'malformed', event: { records, revisions, from, carriage, problem: read.problem, text: read.text } };
    return;
  }
  const { value, size } = read;
  if (!Array.isArray(value)) {
    if (isObject(value)) yield* messageEvent(value, { ...place, inBatch: false, size });
    return;
  }
  yield { on: 'batch', event: { records, revisions, from, carriage, messages: value, exchange } };
  for (const each of value.slice(0, MAX_BATCH))
    if (isObject(each)) yield* messageEvent(each, { ...place, inBatch: true, size: size / value.length });
  if (value.length > MAX_BATCH) conversation.lose();
}

function* messageEvent(value: Record<string, unknown>, place: MessagePlace): Generator<WireEvent> {
  const event = readMessage(value, place);
  if (place.from === 'client') place.exchange?.messages.push(event);
  yield { on: 'message', event };
}
