import { isObject } from '../../jsonrpc/message.ts';
import { Conversation } from './conversation.ts';
import type { WireEvent } from './events.ts';
import type { PartOfStream } from './part.ts';
import type { Side } from './requests.ts';
import { ALL_REVISIONS } from './revisions-of.ts';
import { eventsOfText, readText, type ReadText } from './text-reader.ts';
import { decodeAnyway } from './text.ts';

/** How much of a line is shown. Bytes. */
const MAX_SHOWN = 200;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Turns the parts of one stdio connection into events. */
export class StdioConnection {
  readonly conversation = new Conversation('stdio', false, 'new');

  *part(part: PartOfStream): Generator<WireEvent> {
    const { n, layer, dir, note } = part;
    // A line whose beginning is missing says nothing.
    if (layer !== 'line' || note === 'cut off') return;
    const { conversation } = this;
    const line = part.bytes();
    const from: Side = dir === 'c>s' ? 'client' : 'server';
    const revisions = conversation.revision ? [conversation.revision] : ALL_REVISIONS;
    if (line === undefined) {
      conversation.lose();
      if (part.isTooLarge) yield { on: 'unread', event: { records: [n], revisions, from } };
      return;
    }
    const text = decodeAnyway(line.subarray(0, MAX_SHOWN));
    yield { on: 'line', event: { records: [n], revisions, from, text, note } };
    const read = readText(content(line));
    if (isMessage(read, text)) {
      // The record of the message follows that of its line.
      const place = { n: n + 1, others: [n], from, conversation, exchange: undefined };
      yield* eventsOfText(read, place, revisions);
      return;
    }
    const problem = 'not a message';
    yield { on: 'malformed', event: { records: [n], revisions, from, carriage: 'stdio', problem, text } };
  }

  lose(): void {
    this.conversation.lose();
  }
}

/** A line without its end. */
function content(line: Uint8Array): Uint8Array {
  let end = line.length;
  if (line[end - 1] === LINE_FEED) end -= 1;
  if (line[end - 1] === CARRIAGE_RETURN) end -= 1;
  return line.subarray(0, end);
}

/** Whether a line is meant as a message, valid or not. One that is too large to read may be. */
function isMessage(read: ReadText, text: string): boolean {
  if ('isTooLarge' in read) return true;
  if ('problem' in read) return text.startsWith('{') || text.startsWith('[{');
  const { value } = read;
  if (Array.isArray(value)) return value.every(isObject);
  return isObject(value) && ['method', 'result', 'error'].some((key) => key in value);
}
