import { crc32 } from 'node:zlib';

/** The exit code of a process that has found damage. */
export const DAMAGED = 3;

const CHECKSUM_BYTES = 4;

/** A value as it is stored: a checksum of the key and the text, then the text. LMDB has no checksums of its own. */
export function toFrame(key: string, text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(CHECKSUM_BYTES + bytes);
  frame.write(text, CHECKSUM_BYTES);
  frame.writeUInt32LE(checksum(key, frame.subarray(CHECKSUM_BYTES)));
  return frame;
}

/** Undefined if the value is not the one that was stored with this key. */
export function fromFrame(key: string, frame: Buffer): string | undefined {
  const isIntact =
    frame.length >= CHECKSUM_BYTES && frame.readUInt32LE() === checksum(key, frame.subarray(CHECKSUM_BYTES));
  return isIntact ? frame.toString('utf8', CHECKSUM_BYTES) : undefined;
}

function checksum(key: string, text: Uint8Array): number {
  return crc32(text, crc32(key));
}
