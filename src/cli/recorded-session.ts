import { readRecording, type Recording } from '../inspect/read-recording.ts';
import type { WireRecord } from '../inspect/record.ts';
import { isResponse } from '../jsonrpc/message.ts';
import { callsOf } from '../mock/read-calls.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';
import { Failure } from './failure.ts';
import { unreadable } from './open-recording.ts';

/** What clients sent in a recording, and what the reader must know about it. */
export interface RecordedSession {
  readonly calls: readonly RecordedCall[];
  readonly notes: readonly string[];
}

/**
 * Reads the requests of a recording.
 *
 * @throws Failure with code 2 if it cannot be read, is not a recording, or has no request that was answered.
 */
export async function recordedSession(file: string): Promise<RecordedSession> {
  const notes: string[] = [];
  let calls: RecordedCall[];
  try {
    const recording = await readRecording(file);
    let hasGaps = false;
    calls = await callsOf(
      watched(recording, ({ layer }) => {
        hasGaps ||= layer === 'gap';
      }),
    );
    if (recording.truncated) notes.push(`${file} ends with an incomplete line.`);
    if (hasGaps) notes.push(`Records are missing in ${file}, so requests may be missing, too.`);
  } catch (error) {
    throw unreadable(error, file);
  }
  if (!calls.some(({ steps }) => steps.some(({ message }) => isResponse(message))))
    throw Failure.usage(`${file}: the recording has no request that a server answered`);
  return { calls, notes };
}

async function* watched(recording: Recording, look: (record: WireRecord) => void): AsyncGenerator<WireRecord, void> {
  for await (const record of recording) {
    look(record);
    yield record;
  }
}
