/** @throws RangeError if a key is shorter than 16 bytes. */
export function checkStateKey(key: string | Uint8Array | undefined): void {
  if (key !== undefined && Buffer.byteLength(key) < 16) throw new RangeError('stateKey must have at least 16 bytes');
}
