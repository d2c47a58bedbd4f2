import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { fileProblem } from '../base/file-problem.ts';
import { VERSION } from '../version.ts';
import type { Capture } from './capture.ts';
import { LineBuffer } from './line-buffer.ts';
import { MessageConnections } from './message-connections.ts';
import { isPart, type WireRecord } from './record.ts';
import { headerLine } from './recording-format.ts';

/** How to write a recording. */
export interface RecordToFileOptions {
  /** What is recorded, to show to those who open the file. Default none. */
  readonly target?: string | undefined;
  /** Whether credentials in HTTP heads are replaced by asterisks. Default true. */
  readonly mask?: boolean | undefined;
  /** Called once if writing fails. Nothing is recorded after that. */
  readonly onerror: (error: Error) => void;
}

/** A recording that is being written. */
export interface FileRecording {
  /** Ends the capture, and writes what is left. Resolves when the file is closed. */
  close(): Promise<void>;
}

/**
 * Writes the records of a capture to a file in the mcpcap format. Only its owner may read the file, and an existing
 * file is replaced. The traffic never waits for the disk: if the disk is too slow, the file gets `gap` records.
 *
 * @throws Error with a readable message if the file cannot be written.
 */
export async function recordToFile(
  capture: Pick<Capture, 'started' | 'close'> & { records(): AsyncIterable<Iterable<WireRecord>> },
  file: string,
  options: RecordToFileOptions,
): Promise<FileRecording> {
  const { target, mask = true, onerror } = options;
  const handle = await create(file, headerLine({ started: capture.started, target, by: `everwire ${VERSION}`, mask }));
  const write = async (): Promise<void> => {
    const lines = new LineBuffer(mask);
    const connections = new MessageConnections();
    try {
      for await (const records of capture.records()) {
        // Parts are left out, because readers find them again.
        for (const record of records) if (connections.has(record) && !isPart(record)) lines.add(record);
        if (!lines.isEmpty) await handle.appendFile(lines.take());
      }
    } catch (error) {
      capture.close();
      onerror(new Error(`the recording ${file} is incomplete: ${fileProblem(error)}`, { cause: error }));
    }
    await handle.close();
  };
  const written = write();
  return {
    close: () => {
      capture.close();
      return written;
    },
  };
}

async function create(file: string, header: string): Promise<FileHandle> {
  // O_NOFOLLOW: a link could lead to another user's file. O_NONBLOCK: a pipe without a reader would block. Windows has
  // neither flag.
  const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    if (!(await handle.stat()).isFile()) throw new Error('it is not a regular file');
    await handle.chmod(0o600);
    await handle.truncate();
    await handle.appendFile(header);
    return handle;
  } catch (error) {
    await handle?.close();
    throw new Error(`cannot record to ${file}: ${fileProblem(error)}`, { cause: error });
  }
}
