import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const CHUNK = 64 * 1024;
/** Bytes of a configuration file. Some hosts keep much else in it. */
export const MAX_CONFIG_FILE = 32 * 1024 * 1024;

/**
 * Reads a regular file of at most `maxBytes`. A device or a pipe may have no end, and cannot be read again when the file
 * is watched.
 *
 * @throws Error where it cannot be read, is not a regular file, or is larger than `maxBytes`.
 */
export function readRegularFile(file: string, maxBytes = MAX_CONFIG_FILE): Buffer {
  // Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
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
