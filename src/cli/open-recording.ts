import { fileProblem } from '../base/file-problem.ts';
import { TooLargeToExport } from '../export/recorded-wire.ts';
import { readRecording, RecordingError, type Recording } from '../inspect/read-recording.ts';
import type { WireRecord } from '../inspect/record.ts';
import { EmptyRecording } from '../mock/empty-recording.ts';
import { Failure } from './failure.ts';

/** Opens a recording that the user named. @throws Failure with code 2 */
export async function openRecording(file: string): Promise<Recording> {
  try {
    return await readRecording(file);
  } catch (error) {
    throw unreadable(error, file);
  }
}

/** The records of a recording. @throws Failure with code 2 for a mistake in the file */
export async function* recordsOf(recording: Recording, file: string): AsyncGenerator<WireRecord, void> {
  const records = recording[Symbol.asyncIterator]();
  for (;;) {
    let next: IteratorResult<WireRecord>;
    try {
      next = await records.next();
    } catch (error) {
      throw unreadable(error, file);
    }
    if (next.done) return;
    yield next.value;
  }
}

/** Why a recording cannot be read or used. */
export function unreadable(error: unknown, file: string): Failure {
  if (error instanceof EmptyRecording) return Failure.usage(`${file}: ${error.message}`);
  if (error instanceof TooLargeToExport)
    return Failure.usage(
      `${file} is too large to be exported. Open it with everwire inspect, and export the calls that you need`,
    );
  return Failure.usage(error instanceof RecordingError ? error.message : `cannot read ${file}: ${fileProblem(error)}`);
}
