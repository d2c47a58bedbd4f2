import { expect, test } from 'vitest';
import type { Span } from '../../src/inspect/spans/span.ts';
import { layOut } from './strip-layout.ts';

function span(start: number, end?: number): Span {
  return { start, end } as Span;
}

test('spans that overlap lie in different lanes, and an open one reaches to the end', () => {
  const { bars, breaks } = layOut([span(0, 500), span(100, 200), span(250)], 1000, 102, 3);
  expect(bars.map(({ left, width, lane }) => [left, width, lane])).toEqual([
    [0, 50, 0],
    [10, 10, 1],
    [25, 75, 1],
  ]);
  expect(breaks).toEqual([]);
});

test('a long time without spans is a break', () => {
  const { bars, breaks } = layOut([span(0, 1000), span(60_000_000, 60_001_000)], 60_001_000, 211, 2);
  expect(bars.map(({ left, width }) => [left, width])).toEqual([
    [0, 100],
    [109, 100],
  ]);
  expect(breaks).toHaveLength(1);
});

test('everything stays inside, however many spans and breaks there are', () => {
  const spans = Array.from({ length: 1000 }, (_, at) => span(at * 5_000_000, at * 5_000_000 + 10));
  const { bars } = layOut(spans, 6_000_000_000, 320, 2);
  for (const { left, width, lane } of bars) {
    expect(left + width).toBeLessThanOrEqual(320.001);
    expect(lane).toBeLessThan(2);
  }
});

test.each<[string, Span[], number]>([
  ['a call began after the end of all others', [span(100, 50), span(200, 60)], 60],
  ['a call began late and ended early', [span(0, 1000), span(5000, 60)], 1000],
  ['a call began late, after a break, and ended early', [span(0, 1000), span(3_000_000, 60)], 1000],
  ['later calls are older', [span(60_000_000, 60_001_000), span(10, 500), span(400, 900)], 900],
  ['an open call is newer than the newest record', [span(60_000_000), span(10, 500)], 500],
])('everything stays inside if the clock went back: %s', (_, spans, now) => {
  const { bars } = layOut(spans, now, 320, 2);
  expect(bars.map((bar) => bar.span)).toEqual(expect.arrayContaining(spans));
  expect(bars).toHaveLength(spans.length);
  for (const { left, width } of bars) {
    expect(left).toBeGreaterThanOrEqual(0);
    expect(left + width).toBeLessThanOrEqual(320.001);
  }
  expect(Math.max(...bars.map(({ left, width }) => left + width))).toBeGreaterThan(300);
});

test('nothing is nothing', () => {
  expect(layOut([], 0, 320, 2)).toEqual({ bars: [], breaks: [] });
});
