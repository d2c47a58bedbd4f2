import { readRecording } from '../read-recording.ts';
import type { WireRecord } from '../record.ts';
import type { RecordSource } from './record-stream.ts';

/** The most records of a batch. */
const BATCH = 1000;

/**
 * A recording as the records of a page. The file is read again for each reader, so it may be of any size.
 *
 * @param onerror called with the reason if the rest of the file cannot be read.
 * @throws Error with a readable message if it is not a recording.
 */
export async function recordingSource(file: string, onerror: (error: Error) => void): Promise<RecordSource> {
  const recording = await readRecording(file);
  const { header } = recording;
  // Ending the iteration closes the file.
  const records = recording[Symbol.asyncIterator]();
  await records.next();
  await records.return?.();
  return {
    started: new Date(header.started),
    newest: Infinity,
    header,
    async *records({ after = 0, signal } = {}) {
      let batch: WireRecord[] = [];
      try {
        for await (const record of await readRecording(file)) {
          if (signal?.aborted) return;
          if (record.n <= after) continue;
          batch.push(record);
          if (batch.length < BATCH) continue;
          yield batch;
          batch = [];
        }
      } catch (error) {
        onerror(error as Error);
      }
      if (batch.length > 0) yield batch;
    },
  };
}
