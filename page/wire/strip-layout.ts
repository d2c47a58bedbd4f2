import type { Span } from '../../src/inspect/spans/span.ts';

/** The position of a span, in pixels. `lane` is its row, counted from 0. */
export interface SpanBar {
  readonly span: Span;
  readonly left: number;
  readonly width: number;
  readonly lane: number;
}

/** The positions of all spans and breaks. */
export interface StripLayout {
  readonly bars: readonly SpanBar[];
  /** Where time without spans is left out. Pixels. */
  readonly breaks: readonly number[];
}

/**
 * Time without spans that is longer than this is drawn as a break, in microseconds. If the breaks would take more than
 * half of the width, only longer ones are drawn.
 */
const IDLE = 1_000_000;
/** The width of a break, and the least width of a span. Pixels. */
const BREAK = 9;
const NARROWEST = 2;

/**
 * Lays out spans in a strip of a given width, in pixels.
 *
 * @param spans in any order: in a recording, the times of records may go back.
 * @param now the time at which open spans end.
 * @param lanes the number of rows. Spans for which no row is free are drawn in the last one.
 */
export function layOut(spans: readonly Span[], now: number, width: number, lanes: number): StripLayout {
  const sorted = spans.toSorted((a, b) => a.start - b.start);
  let idle = IDLE;
  let busy = busyTimes(sorted, now, idle);
  while (busy.length * BREAK > width / 2 && busy.length > 1) busy = busyTimes(sorted, now, (idle *= 4));
  const total = busy.reduce((sum, { start, end }) => sum + end - start, 0);
  const room = Math.max(0, width - NARROWEST - BREAK * (busy.length - 1));
  const scale = total === 0 ? 0 : room / total;
  const breaks: number[] = [];
  const bars: SpanBar[] = [];
  const ends: number[] = [];
  let at = 0;
  let left = 0;
  for (const span of sorted) {
    while (span.start > busy[at]!.end) {
      left += (busy[at]!.end - busy[at]!.start) * scale + BREAK;
      breaks.push(Math.round(left - BREAK / 2));
      at += 1;
    }
    const x = left + (span.start - busy[at]!.start) * scale;
    const length = Math.max(NARROWEST, ((span.end ?? now) - span.start) * scale);
    const free = ends.findIndex((end) => end <= x);
    const lane = free === -1 ? Math.min(ends.length, lanes - 1) : free;
    ends[lane] = Math.max(ends[lane] ?? 0, x + length + 1);
    bars.push({ span, left: x, width: length, lane });
  }
  return { bars, breaks };
}

/**
 * The intervals with spans. Two intervals are one if the time between them is at most `idle`.
 *
 * @param spans in the order of their starts. A span may end before it starts.
 */
function busyTimes(spans: readonly Span[], now: number, idle: number): { start: number; end: number }[] {
  const times: { start: number; end: number }[] = [];
  for (const { start, end = now } of spans) {
    const last = times.at(-1);
    if (last && start - last.end <= idle) last.end = Math.max(last.end, start, end);
    else times.push({ start, end: Math.max(start, end) });
  }
  return times;
}
