import { fileStream } from '../base/file-stream.ts';
import { Layering } from './layering.ts';
import type { WireRecord } from './record.ts';
import { MAX_LINE, parseHeader, parseRecord, type RecordingHeader } from './recording-format.ts';

/**
 * The most connections of a file that are followed at a time. A file may open millions, and the records that close them
 * may be lost in gaps.
 */
const MAX_CONNECTIONS = 10_000;

/** A recording that is being read. It can be read once. */
export interface Recording extends AsyncIterable<WireRecord> {
  readonly header: RecordingHeader;
  /** Whether the last line was incomplete, because the recording process ended. Known when all records are read. */
  readonly truncated: boolean;
}

/** A recording is invalid. The message names the file and the line. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
  /** The number of the line. The header is line 1. */
  readonly line: number;

  constructor(file: string, line: number, cause: Error) {
    super(`${file}, line ${line}: ${cause.message}`, { cause });
    this.line = line;
  }
}

/**
 * Opens a recording in the mcpcap format. Lines are read as records are requested, so the file may be of any size.
 *
 * @param source the path of a file, or its bytes.
 * @throws RecordingError if it is not a recording. The iteration throws it for an invalid line.
 * @throws Error if the file cannot be read.
 */
export async function readRecording(source: string | AsyncIterable<Uint8Array>): Promise<Recording> {
  const file = typeof source === 'string' ? source : 'the recording';
  const lines = linesOf(typeof source === 'string' ? fileStream(source) : source);
  const parse = <T>({ number }: Line, parser: () => T): T => {
    try {
      return parser();
    } catch (error) {
      throw new RecordingError(file, number, error as Error);
    }
  };
  const { value: first } = await lines.next();
  let header: RecordingHeader;
  try {
    header = parse(first ?? { number: 1 }, () => parseHeader(textOf(first)));
  } catch (error) {
    await lines.return();
    throw error;
  }
  let truncated = false;
  async function* records(): AsyncGenerator<WireRecord, void> {
    let last = 0;
    let found: WireRecord[] = [];
    const layering = new Layering((record) => found.push(record), true, MAX_CONNECTIONS);
    for await (const line of lines) {
      let parsed: ReturnType<typeof parseRecord>;
      try {
        parsed = parse(line, () => parseRecord(textOf(line), last));
      } catch (error) {
        if (!line.isUnfinished) throw error;
        truncated = true;
        return;
      }
      last = parsed.n;
      if (!parsed.event) continue;
      layering.add(parsed.event);
      yield* found;
      found = [];
    }
  }
  const reading = records();
  return {
    header,
    get truncated() {
      return truncated;
    },
    [Symbol.asyncIterator]: () => reading,
  };
}

interface Line {
  readonly number: number;
  /** Undefined if the line is too long. */
  readonly text?: string | undefined;
  /** Whether it has no line end. */
  readonly isUnfinished?: boolean;
}

const LINE_FEED = 0x0a;

function textOf(line: Line | void): string {
  if (!line) throw new Error('the file is empty');
  if (line.text === undefined) throw new Error(`the line is longer than ${MAX_LINE} bytes`);
  return line.text;
}

async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void> {
  let number = 1;
  let parts: Uint8Array[] = [];
  let size = 0;
  const take = (isUnfinished: boolean): Line => {
    const line = { number, text: Buffer.concat(parts).toString(), isUnfinished };
    parts = [];
    size = 0;
    number += 1;
    return line;
  };
  for await (const chunk of source) {
    let at = 0;
    for (let end = chunk.indexOf(LINE_FEED); at < chunk.length; end = chunk.indexOf(LINE_FEED, at)) {
      const part = chunk.subarray(at, end === -1 ? chunk.length : end);
      size += part.length;
      if (size > MAX_LINE) {
        yield { number };
        return;
      }
      parts.push(part);
      at += part.length + 1;
      if (end !== -1) yield take(false);
    }
  }
  if (size > 0) yield take(true);
}
