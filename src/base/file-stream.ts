import { constants, createReadStream, openSync, statSync } from 'node:fs';
import { Socket } from 'node:net';

/**
 * The bytes of a file, a device or a pipe. To open a pipe usually blocks a thread until there is a writer, and a process with such a
 * thread does not even end at SIGTERM. So here, only the iteration waits.
 *
 * @throws Error with a `code` if it cannot be opened. The iteration may throw it, too.
 */
export function fileStream(file: string): AsyncIterable<Buffer> {
  if (!statSync(file).isFIFO()) return createReadStream(file);
  return new Socket({ fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK), readable: true, writable: false });
}
