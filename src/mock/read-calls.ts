import { readRecording } from '../inspect/read-recording.ts';
import { isObject, type Message } from '../jsonrpc/message.ts';
import { callsOf } from './calls-of.ts';
import { EmptyRecording } from './empty-recording.ts';
import type { RecordedCall } from './recorded-call.ts';

/**
 * The calls of a recording: see `callsOf`.
 *
 * @param onunread called for each message that is too large to be read.
 * @throws RecordingError if it is not a recording. EmptyRecording if it has no request that was answered. Error if it cannot be
 * read.
 */
export async function readCalls(
  source: string | AsyncIterable<Uint8Array>,
  onunread?: () => void,
): Promise<RecordedCall[]> {
  const found = await callsOf(await readRecording(source), false, onunread);
  if (!found.some(({ message, steps }) => 'id' in message && steps.some((step) => isResult(step.message))))
    throw new EmptyRecording();
  return found;
}

function isResult(message: Message): boolean {
  return 'result' in message && isObject(message.result);
}
