import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const CHUNK = 64 * 1024;
/** The largest configuration file, in bytes. Some hosts store much other data in it. */
export const MAX_CONFIG_FILE = 32 * 1024 * 1024;

/**
 * Reads a regular file of at most `maxBytes`. A device or a pipe may have no end, and cannot be read again when the file
 * is watched.
 *
 * @throws Error if it cannot be read, is not a regular file, or is larger than `maxBytes`.
 */
export function readRegularFile(file: string, maxBytes = MAX_CONFIG_FILE): Buffer {
  // Without O_NONBLOCK, opening a pipe blocks until there is a writer.
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) throw new Error('it is a directory');
    if (!stat.isFile()) throw new Error('it is not a regular file');
    const chunks: Buffer[] = [];
    let length = 0;
    // The reported size may be wrong: the file may grow, and some file systems report no size.
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK);
      const read = readSync(descriptor, chunk);
      if (read === 0) return Buffer.concat(chunks, length);
      chunks.push(chunk.subarray(0, read));
      length += read;
      if (length > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    }
  } finally {
    closeSync(descriptor);
  }
}
