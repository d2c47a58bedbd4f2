import type { Writable } from 'node:stream';

/**
 * Gives an output the `write` of all streams, if it has the one of Bun's pipes: that goes round `_write`, and does not
 * count what waits for the reader. Call it before `write` is replaced or kept.
 */
export function usePlainWrite(output: Writable): void {
  // Bun's own has this name. One that other code has put there stays.
  // oxlint-disable-next-line typescript/unbound-method
  if (output.write.name === 'writeFast') output.write = (Object.getPrototypeOf(output) as Writable).write;
}
