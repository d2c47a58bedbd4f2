import { printable } from '../../base/printable.ts';
import type { ComparisonReport } from './comparison-report.ts';

/** A report for programs. What is not there is left out, such as `before` of something new. */
export function jsonReport({ before, after, comparison, notRepeated, notes }: ComparisonReport): string {
  const { differs, counts, requests } = comparison;
  const report = {
    ...{ before, after, differs, counts },
    requests: requests.map(({ title, outcome, records, args, differences, count }) => ({
      request: title,
      outcome,
      records: { before: records[0], after: records[1] },
      arguments: args,
      differences,
      // `JSON.stringify` leaves it out if it is undefined.
      more: count > differences.length ? count - differences.length : undefined,
    })),
    ...(notRepeated && { notRepeated }),
    notes,
  };
  return `${printable(JSON.stringify(report, undefined, 2))}\n`;
}
