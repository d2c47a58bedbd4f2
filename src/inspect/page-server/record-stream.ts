import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { VERSION } from '../../version.ts';
import type { Capture } from '../capture.ts';
import { headerLine, recordLine, type RecordingHeader } from '../recording-format.ts';

/** A page draws at most once in this time, so it need not get records more often. */
const FRAME_MS = 16;

/** The records that are served to the page. */
export interface RecordSource extends Pick<Capture, 'started' | 'newest' | 'records'> {
  /** The header, if a recording is shown. Default: the header of a new recording. */
  readonly header?: RecordingHeader | undefined;
}

/**
 * Writes records to a response, in the mcpcap format, until the capture or the response ends. Nothing waits in memory
 * for a slow reader: it gets the records that the capture still has, and a gap for the others.
 */
export async function streamRecords(
  response: ServerResponse,
  source: RecordSource,
  { after, target }: { after: number; target?: string | undefined },
): Promise<void> {
  const closing = new AbortController();
  const { signal } = closing;
  response.once('close', () => closing.abort());
  response.on('error', () => closing.abort());
  try {
    const { started, header } = source;
    const by = `everwire ${VERSION}`;
    response.write(header ? `${JSON.stringify(header)}\n` : headerLine({ started, target, by, mask: false }));
    for await (const records of source.records({ after, signal })) {
      const lines = records.map((record) => recordLine(record, false)).join('');
      if (!response.write(lines)) await once(response, 'drain', { signal });
      else if (records.at(-1)!.n === source.newest) await pause(FRAME_MS, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  response.end();
}
