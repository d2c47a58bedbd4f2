import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/**
 * Reads a regular file of at most `maxBytes`. A device or a pipe may have no end, and cannot be read again when the file
 * is watched.
 *
 * @throws Error if it cannot be read, is not a regular file, or is larger than `maxBytes`.
 */
export function readRegularFile(file: string, maxBytes: number): Buffer {
  // Without O_NONBLOCK, opening a pipe blocks until there is a writer.
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) throw new Error('it is a directory');
    if (!stat.isFile()) throw new Error('it is not a regular file');
    if (stat.size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
