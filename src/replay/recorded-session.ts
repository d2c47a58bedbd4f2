import { throughTurns } from '../base/in-turns.ts';
import { readRecording } from '../inspect/read-recording.ts';
import type { WireRecord } from '../inspect/record.ts';
import { isResponse } from '../jsonrpc/message.ts';
import { callsOf } from '../mock/calls-of.ts';
import { EmptyRecording } from '../mock/empty-recording.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';

/** What clients sent in a recording, and what the reader must know about it. */
export interface RecordedSession {
  readonly calls: readonly RecordedCall[];
  readonly notes: readonly string[];
}

/**
 * Reads the requests of a recording.
 *
 * @param source the path of a file, or its bytes.
 * @param name how the notes call it.
 * @throws RecordingError if it is not a recording. EmptyRecording if it has no request that was answered. Error if it
 * cannot be read.
 */
export async function recordedSession(
  source: string | AsyncIterable<Uint8Array>,
  name: string,
): Promise<RecordedSession> {
  const recording = await readRecording(source);
  const { calls, notes } = await sessionIn(recording, name);
  return { calls, notes: recording.truncated ? [`${name} ends with an incomplete line.`, ...notes] : notes };
}

/** The same for records. */
export async function sessionIn(records: AsyncIterable<WireRecord>, name: string): Promise<RecordedSession> {
  let hasGaps = false;
  let unread = 0;
  const calls = await callsOf(
    watched(throughTurns(records), ({ layer }) => {
      hasGaps ||= layer === 'gap';
    }),
    false,
    () => (unread += 1),
  );
  if (!calls.some(({ steps }) => steps.some(({ message }) => isResponse(message)))) throw new EmptyRecording();
  const notes = hasGaps ? [`Records are missing in ${name}, so requests may be missing, too.`] : [];
  if (unread > 0) notes.push(tooLarge(unread, name));
  return { calls, notes };
}

/** What is said of messages of more than 4 MiB, of more than 50,000 keys and values, or of more than 500 levels. */
function tooLarge(count: number, name: string): string {
  return `${name} has ${count === 1 ? 'a message that is' : `${count} messages that are`} too large to be compared, so requests may be missing.`;
}

async function* watched(
  records: AsyncIterable<WireRecord>,
  look: (record: WireRecord) => void,
): AsyncGenerator<WireRecord, void> {
  for await (const record of records) {
    look(record);
    yield record;
  }
}
