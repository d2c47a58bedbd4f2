import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const CHUNK = 64 * 1024;
/** Bytes of a file that configures. Some hosts keep much else in theirs. */
export const MAX_CONFIG_FILE = 32 * 1024 * 1024;

/**
 * Reads a file, and no more of it than the bound. A device or a pipe may have no end, and cannot be read again where the
 * file is watched.
 *
 * @throws Error where it cannot be read, is not a regular file, or is larger than `maxBytes`.
 */
export function readRegularFile(file: string, maxBytes = MAX_CONFIG_FILE): Buffer {
  // Opening a pipe that nobody writes to would wait for ever.
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) throw new Error('it is a directory');
    if (!stat.isFile()) throw new Error('it is not a regular file');
    const chunks: Buffer[] = [];
    let length = 0;
    // Its size may be wrong: it may grow, and some file systems give none.
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
