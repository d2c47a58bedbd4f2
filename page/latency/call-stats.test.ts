import { describe, expect, test } from 'vitest';
import { parseFilter } from '../../src/inspect/filter/parse.ts';
import { recordSubject } from '../../src/inspect/filter/subject.ts';
import type { Span } from '../../src/inspect/spans/span.ts';
import { callFilter, ERRORS } from './call-filter.ts';
import { histogram, percentile, statsOf } from './call-stats.ts';

let number = 0;
function span(fields: Partial<Span>): Span {
  number += 1;
  const general = { number, conn: 1, dir: 'c>s', id: number, method: 'tools/call', records: [], omitted: 0 };
  return { ...general, state: 'done', start: 100, end: 200, ...fields };
}

test('calls are grouped by method, tool and direction, and answered ones are timed', () => {
  const failing = span({ tool: 'b', end: 160 });
  const stats = statsOf(
    [
      span({ tool: 'a', end: 400 }),
      span({ tool: 'a', end: 150 }),
      span({ tool: 'a', state: 'failed', end: 130 }),
      span({ tool: 'a', state: 'open', end: undefined }),
      span({ tool: 'a', state: 'unanswered', end: 9000 }),
      span({ tool: 'a', state: 'cancelled', end: 9000 }),
      failing,
      span({ method: 'ping' }),
      span({ method: 'ping', dir: 's>c' }),
      span({ method: undefined }),
    ],
    (each) => each === failing,
  );
  expect(stats).toEqual([
    { method: 'tools/call', tool: 'a', dir: 'c>s', count: 6, errors: 2, durations: [30, 50, 300] },
    { method: 'ping', tool: undefined, dir: 'c>s', count: 1, errors: 0, durations: [100] },
    { method: 'ping', tool: undefined, dir: 's>c', count: 1, errors: 0, durations: [100] },
    { method: 'tools/call', tool: 'b', dir: 'c>s', count: 1, errors: 1, durations: [60] },
  ]);
});

test('a percentile is one of the durations', () => {
  const hundred = Array.from({ length: 100 }, (_, at) => at + 1);
  expect([50, 90, 99].map((percent) => percentile(hundred, percent))).toEqual([50, 90, 99]);
  expect([50, 90, 99].map((percent) => percentile([7], percent))).toEqual([7, 7, 7]);
  expect([50, 90, 99].map((percent) => percentile([1, 2], percent))).toEqual([1, 2, 2]);
  expect(percentile([], 50)).toBeUndefined();
});

test('a histogram has each call in one bar, and no bar before the shortest or after the longest', () => {
  const bars = (...durations: number[]): string[] =>
    histogram(durations).map(({ from, to, count }) => `${from}-${to} ${count}`);
  expect(bars()).toEqual([]);
  expect(bars(0)).toEqual(['0-10 1']);
  expect(bars(10, 19, 20)).toEqual(['10-20 2', '20-50 1']);
  expect(bars(1500, 11_000)).toEqual(['1000-2000 1', '2000-5000 0', '5000-10000 0', '10000-20000 1']);
  expect(bars(3_600_000_000)).toEqual(['2000000000-5000000000 1']);
});

describe('the filter of calls', () => {
  const stats = { method: 'tools/call', tool: 'a b*"\\', dir: 'c>s', count: 1, errors: 0, durations: [] };
  const shows = (filter: string, fields: object, each: Partial<Span> = {}, text = ''): boolean =>
    parseFilter(filter)(
      recordSubject({ n: 1, t: 1, layer: 'message', ...fields }, span({ tool: stats.tool, ...each }), () => text, {
        side: 'client',
      }),
    );
  const request = { kind: 'request', dir: 'c>s' };
  const result = { kind: 'result', dir: 's>c' };

  test('shows requests and responses of the tool, whatever its name is', () => {
    const filter = callFilter(stats, { isBothWays: false, side: 'client' });
    expect([request, result].map((fields) => shows(filter, fields))).toEqual([true, true]);
    expect(shows(filter, request, { tool: 'a b-"\\' })).toBe(false);
    expect(shows(callFilter(stats, { isBothWays: false, side: 'server' }), request)).toBe(false);
  });

  test('tells the directions of a method that both sides may use', () => {
    const filter = callFilter({ ...stats, tool: undefined }, { isBothWays: true });
    expect([request, result].map((fields) => shows(filter, fields))).toEqual([true, true]);
    const others = [
      { kind: 'request', dir: 's>c' },
      { kind: 'result', dir: 'c>s' },
    ];
    expect(others.map((fields) => shows(filter, fields))).toEqual([false, false]);
  });

  test('takes further terms', () => {
    const slow = callFilter(stats, { isBothWays: false, terms: ['dur>=100us', 'dur<200us'] });
    expect([100, 200, 201].map((end) => shows(slow, request, { start: 0, end }))).toEqual([true, false, false]);
    const errors = callFilter(stats, { isBothWays: false, terms: [ERRORS] });
    expect(shows(errors, request, { state: 'failed' })).toBe(true);
    expect(shows(errors, result)).toBe(false);
    expect(shows(errors, result, {}, '{"result":{"isError":true}}')).toBe(true);
  });
});
