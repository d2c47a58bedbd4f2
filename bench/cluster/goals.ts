/** What each row of the cluster's table should reach. The numbers are milliseconds, ratios or calls a second. */
export const rows: string[][] = [['what', 'who', 'result', 'p50 ms', 'p99 ms', 'target', '']];

/** What a result is compared with. */
export interface Target {
  readonly text: string;
  readonly isReached: boolean;
}

export const below = (value: number, limit: number, unit: string): Target => ({
  text: `< ${limit} ${unit}`,
  isReached: value < limit,
});

export const atLeast = (value: number, limit: number, unit = ''): Target => ({
  text: `>= ${limit.toLocaleString('en')} ${unit}`.trim(),
  isReached: value >= limit,
});

export const none = (count: number): Target => ({ text: '0', isReached: count === 0 });

/** Adds a row. One without a target is there for comparison. */
export function add(
  what: string,
  who: string,
  result: string,
  target?: Target,
  { p50, p99 }: { p50?: number; p99?: number } = {},
): void {
  const verdict = target === undefined ? '' : target.isReached ? 'reached' : 'missed';
  rows.push([what, who, result, milliseconds(p50), milliseconds(p99), target?.text ?? '', verdict]);
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(2);
}
