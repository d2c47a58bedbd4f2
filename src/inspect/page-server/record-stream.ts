import { VERSION } from '../../version.ts';
import type { Capture } from '../capture.ts';
import { LineBuffer } from '../line-buffer.ts';
import { headerLine, type RecordingHeader } from '../recording-format.ts';
import type { Lines } from './line-stream.ts';

/** The records that are served to the page. */
export interface RecordSource extends Pick<Capture, 'started' | 'newest' | 'records'> {
  /** The header, if a recording is shown. Default: the header of a new recording. */
  readonly header?: RecordingHeader | undefined;
}

/** A line of the stream after the last record. */
const END = '{"end":true}\n';

/**
 * The records in the mcpcap format, until the capture ends. Nothing waits in memory for a slow reader: it gets the
 * records that the capture still has, and a gap for the others.
 */
export async function* recordLines(
  source: RecordSource,
  { after, target, signal }: { after: number; target?: string | undefined; signal: AbortSignal },
): AsyncGenerator<Lines, void> {
  const { started, header } = source;
  const by = `everwire ${VERSION}`;
  const first = header ? `${JSON.stringify(header)}\n` : headerLine({ started, target, by, mask: false });
  yield { text: first, isNewest: false };
  const lines = new LineBuffer(false);
  for await (const records of source.records({ after, signal })) {
    for (const record of records) lines.add(record);
    // A copy, because the stream keeps it until the page has read it.
    yield { text: Buffer.from(lines.take()), isNewest: records.at(-1)!.n === source.newest };
  }
  yield { text: END, isNewest: false };
}
