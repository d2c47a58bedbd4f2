import type { Span } from '../../src/inspect/spans/span.ts';

/** The calls of one method, or of one tool. Times are in microseconds. */
export interface CallStats {
  readonly method: string;
  readonly tool: string | undefined;
  /** `c>s` for a call of the client. */
  readonly dir: string;
  /** All calls, also those without an answer. */
  readonly count: number;
  /** Calls that failed, that were never answered, or whose result is an error of the tool. */
  readonly errors: number;
  /** How long the answered calls took, in ascending order. */
  readonly durations: readonly number[];
}

/** The largest percentiles of a list. */
export const PERCENTILES = [50, 90, 99] as const;

type MutableStats = { -readonly [Field in keyof CallStats]: CallStats[Field] } & { durations: number[] };

/**
 * Groups calls by method and tool, those with the most calls first.
 *
 * @param isToolError whether the result of an answered call says that the tool failed.
 * @param isProbe whether a call failed as was expected, so that it is no error.
 */
export function statsOf(
  spans: Iterable<Span>,
  isToolError: (span: Span) => boolean,
  isProbe: (span: Span) => boolean = () => false,
): readonly CallStats[] {
  const groups = new Map<string, MutableStats>();
  for (const span of spans) {
    const { method, tool, dir, state, start, end } = span;
    if (method === undefined) continue;
    const key = JSON.stringify([dir, method, tool]);
    let stats = groups.get(key);
    if (!stats) groups.set(key, (stats = { method, tool, dir, count: 0, errors: 0, durations: [] }));
    stats.count += 1;
    const isError = state === 'failed' || state === 'unanswered' || (state === 'done' && isToolError(span));
    if (isError && !isProbe(span)) stats.errors += 1;
    if (end !== undefined && (state === 'done' || state === 'failed')) stats.durations.push(end - start);
  }
  for (const { durations } of groups.values()) durations.sort((a, b) => a - b);
  return [...groups.values()].toSorted((a, b) => b.count - a.count || nameOf(a).localeCompare(nameOf(b), 'en'));
}

function nameOf({ method, tool = '' }: CallStats): string {
  return `${method} ${tool}`;
}

/** The nearest-rank percentile: the least duration that this part of the calls did not exceed. */
export function percentile(durations: readonly number[], percent: number): number | undefined {
  return durations[Math.max(0, Math.ceil((percent / 100) * durations.length) - 1)];
}

/** A bar of a histogram. */
export interface Bar {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly count: number;
}

/** How many calls took how long. The bars grow by 1, 2, 5, 10, and so on, because durations differ by decades. */
export function histogram(durations: readonly number[]): readonly Bar[] {
  if (durations.length === 0) return [];
  let at = 0;
  const bars: Bar[] = [];
  const last = durations.at(-1)!;
  for (let step = 0, to = boundOf(step), from = 0; at < durations.length; step += 1, from = to, to = boundOf(step)) {
    const first = at;
    while (at < durations.length && durations[at]! < to) at += 1;
    // Nothing is shorter than the first bar, and nothing is longer than the last.
    if (at > first || (bars.length > 0 && from <= last)) bars.push({ from, to, count: at - first });
  }
  return bars;
}

/** 10, 20, 50, 100, 200, and so on. */
function boundOf(step: number): number {
  return [1, 2, 5][step % 3]! * 10 ** (1 + Math.floor(step / 3));
}
