import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { rowsIn, useRowWindow } from './row-window.ts';

/** As in the style. Pixels. */
const ROW = 20;
/** The width of a character of 12 pixels in the common monospace fonts. */
const CHARACTER = 7.23;

interface HexViewProps {
  readonly bytes: Uint8Array;
  /** The offset of the first byte. */
  readonly offset: number;
  /** The name of the view for screen readers. */
  readonly label: string;
}

/** How many bytes fit into a line: 4, 8, 12 or 16. @param width of the box and of a character, in pixels. */
function bytesPerLine(width: number, character: number): number {
  // The offset and the spaces between the columns take 14 characters, and a byte takes 4.
  const fit = Math.floor((width / character - 14) / 16) * 4;
  return Math.max(4, Math.min(16, fit));
}

/** Browsers do not scroll over more than some million rows. Bytes. */
const PART = 4 * 1024 * 1024;

/** Bytes as hexadecimal numbers, and as text where they are printable ASCII. Many are shown in parts. */
export function HexView({ bytes, offset, label }: HexViewProps): JSX.Element {
  const [part, setPart] = useState(0);
  const last = Math.ceil(bytes.length / PART) - 1;
  const start = part * PART;
  return (
    <>
      {last > 0 && (
        <div class="toolbar">
          <button type="button" disabled={part === 0} onClick={() => setPart(part - 1)}>
            Previous part
          </button>
          <span>
            Part {part + 1} of {last + 1}
          </span>
          <button type="button" disabled={part === last} onClick={() => setPart(part + 1)}>
            Next part
          </button>
        </div>
      )}
      <HexPart key={part} bytes={bytes.subarray(start, start + PART)} offset={offset + start} label={label} />
    </>
  );
}

function HexPart({ bytes, offset, label }: HexViewProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const view = useRowWindow(box, ROW);
  const width = bytesPerLine(view.width.value, CHARACTER);
  const count = Math.ceil(bytes.length / width);
  const [start, end] = rowsIn(view, ROW, count);
  const rows: JSX.Element[] = [];
  for (let row = start; row < end; row += 1) {
    const at = row * width;
    const line = bytes.subarray(at, at + width);
    rows.push(
      <div class="hex-row" key={row % (end - start)} style={{ top: `${row * ROW}px` }}>
        <span class="hex-offset">{(offset + at).toString(16).padStart(8, '0')}</span>
        <span>{hexOf(line, width)}</span>
        <span class="hex-text">{asciiOf(line)}</span>
      </div>,
    );
  }
  return (
    <div class="hex" ref={box} tabIndex={0} role="region" aria-label={label}>
      <div class="hex-rows" style={{ height: `${count * ROW}px` }}>
        {rows}
      </div>
    </div>
  );
}

function hexOf(line: Uint8Array, width: number): string {
  let text = '';
  for (let at = 0; at < width; at += 1) {
    const byte = line[at];
    text += `${byte === undefined ? '  ' : byte.toString(16).padStart(2, '0')}${at % 8 === 7 && at < width - 1 ? '  ' : ' '}`;
  }
  return text;
}

function asciiOf(line: Uint8Array): string {
  return Array.from(line, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·')).join('');
}
