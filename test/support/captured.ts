import { createHash } from 'node:crypto';
import type { Capture } from '../../src/inspect/capture.ts';
import { isPart, type PartRecord, type WireRecord } from '../../src/inspect/record.ts';
import type { WireStream } from '../../src/transport/wiretap.ts';

/** Everything that a capture has recorded when its first connection has closed. Ends the capture. */
export async function recordsOf(capture: Capture): Promise<WireRecord[]> {
  const records: WireRecord[] = [];
  for await (const batch of capture.records()) {
    records.push(...batch);
    if (batch.some(({ layer }) => layer === 'close')) capture.close();
  }
  return records;
}

/** The bytes of one stream of a connection, put together again. */
export function bytesOf(records: readonly WireRecord[], dir: WireStream, conn = 1): Buffer {
  let end = 0;
  return Buffer.concat(
    records
      .filter((record) => record.layer === 'bytes')
      .filter((record) => record.conn === conn && record.dir === dir)
      .map(({ bytes, range }) => {
        if (range[0] !== end || range[1] - range[0] !== bytes.length) throw new Error(`${range.join('-')} is not next`);
        [, end] = range;
        return bytes;
      }),
  );
}

/** What the upper layers found in one stream of a connection, with the text of each part. */
export function partsOf(records: readonly WireRecord[], dir: WireStream, conn = 1): (PartRecord & { text: string })[] {
  const bytes = bytesOf(records, dir, conn);
  return records
    .filter(isPart)
    .filter((record) => record.conn === conn && record.dir === dir)
    .map((part) => {
      const pieces = part.range.flatMap((start, i) => (i % 2 === 0 ? [bytes.subarray(start, part.range[i + 1])] : []));
      return Object.assign({}, part, { text: Buffer.concat(pieces).toString() });
    });
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
