import type { Readable, Writable } from 'node:stream';

const NEWLINE = 10;
/** How many bytes of a line wait for its end. */
const MAX_LINE = 1024 * 1024;

/**
 * Passes on what a process writes, in whole lines, so that lines of several processes do not mix. It reads no faster than
 * its reader.
 */
export function passWholeLines(from: Readable, to: Writable): void {
  let begun: Buffer[] = [];
  let length = 0;
  const write = (last: Buffer): void => {
    const bytes = Buffer.concat([...begun, last]);
    begun = [];
    length = 0;
    if (!to.write(bytes, () => from.resume())) from.pause();
  };
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > 0) write(chunk.subarray(0, end));
    if (end === chunk.length) return;
    begun.push(chunk.subarray(end));
    length += chunk.length - end;
    if (length > MAX_LINE) write(Buffer.from('\n'));
  });
  from.on('end', () => {
    if (length > 0) write(Buffer.from('\n'));
  });
}
