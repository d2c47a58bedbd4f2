import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** Closes stdin or stdout for the other side. Node never does, because another file could get the number. */
export function closeDescriptor(descriptor: 0 | 1): void {
  closeSync(descriptor);
  openSync(devNull, descriptor === 0 ? 'r' : 'w');
}
