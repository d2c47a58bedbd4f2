import { readRecording } from '../inspect/read-recording.ts';
import { isObject, type Message } from '../jsonrpc/message.ts';
import { callsOf } from './calls-of.ts';
import type { RecordedCall } from './recorded-call.ts';

/**
 * The calls of a recording: see `callsOf`.
 *
 * @throws RecordingError if it is not a recording. Error if it has no request that was answered, or cannot be read.
 */
export async function readCalls(source: string | AsyncIterable<Uint8Array>): Promise<RecordedCall[]> {
  const found = await callsOf(await readRecording(source));
  if (!found.some(({ message, steps }) => 'id' in message && steps.some((step) => isResult(step.message))))
    throw new Error('the recording has no request that a server answered');
  return found;
}

function isResult(message: Message): boolean {
  return 'result' in message && isObject(message.result);
}
