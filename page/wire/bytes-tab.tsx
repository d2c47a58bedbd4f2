import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { HexView } from '../ui/hex-view.tsx';
import { countText, sizeText } from './format.ts';
import type { RecordStore } from './record-store.ts';
import { save } from './save.ts';
import { Sha256 } from './sha256.ts';
import { sizeOf, type Content, type WireRecord } from './wire-record.ts';

/** Exactly the bytes of a record, with their hash. */
export function BytesTab({ record, store }: { record: WireRecord; store: RecordStore }): JSX.Element {
  const { n, range, layer } = record;
  if (!range) return <p class="empty">This record has no bytes.</p>;
  const { pieces, missing } = store.bytes(record);
  if (missing > 0)
    return (
      <p class="empty">
        {sizeText(missing)} of {sizeText(sizeOf(range))} are no longer in memory.
      </p>
    );
  return <BytesView key={n} name={`${layer}-${n}.bin`} range={range} pieces={pieces} />;
}

/** How long bytes are read before the page draws again. Milliseconds. */
const SLICE_MS = 20;
const encoder = new TextEncoder();

interface BytesViewProps {
  readonly name: string;
  readonly range: readonly number[];
  readonly pieces: readonly Content[];
}

function BytesView({ name, range, pieces }: BytesViewProps): JSX.Element {
  const [bytes, setBytes] = useState<Uint8Array | undefined>(undefined);
  const [hash, setHash] = useState('…');
  useEffect(() => {
    let isCurrent = true;
    const read = async (): Promise<void> => {
      const all = new Uint8Array(sizeOf(range));
      const sha256 = new Sha256();
      let at = 0;
      let until = performance.now() + SLICE_MS;
      for (const piece of pieces) {
        const target = all.subarray(at, (at += piece.length));
        if (typeof piece === 'string') encoder.encodeInto(piece, target);
        else target.set(piece);
        sha256.push(target);
        if (performance.now() < until) continue;
        await new Promise((resolve) => setTimeout(resolve));
        if (!isCurrent) return;
        until = performance.now() + SLICE_MS;
      }
      setBytes(all);
      setHash(sha256.digest());
    };
    void read();
    return () => {
      isCurrent = false;
    };
  }, []);
  return (
    <>
      <dl class="wire-facts">
        <dt>Range</dt>
        <dd class="mono">{rangeText(range)}</dd>
        <dt>Size</dt>
        <dd>{countText(sizeOf(range))} bytes</dd>
        <dt>SHA-256</dt>
        <dd class="mono wire-hash">{hash}</dd>
      </dl>
      <div class="toolbar">
        <button type="button" onClick={() => void save(name, pieces)}>
          Save bytes
        </button>
      </div>
      {bytes && <HexView bytes={bytes} offset={range.length === 2 ? range[0]! : 0} label="Bytes" />}
    </>
  );
}

/** The most pieces of a range that are listed. */
const MAX_PIECES = 20;

function rangeText(range: readonly number[]): string {
  const pieces: string[] = [];
  for (let at = 0; at < Math.min(range.length, MAX_PIECES * 2); at += 2)
    pieces.push(`${countText(range[at]!)}–${countText(range[at + 1]!)}`);
  const more = range.length / 2 - pieces.length;
  return pieces.join(', ') + (more > 0 ? ` and ${more} more` : '');
}
