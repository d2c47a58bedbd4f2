import { printableLine } from '../../base/printable.ts';
import type { ComparedRequest, Difference } from '../../replay/compare.ts';
import { countsOf, summaryOf } from '../../replay/summary.ts';
import { cut } from '../screen.ts';
import { wrapped } from '../wrapped.ts';
import type { ComparisonReport } from './comparison-report.ts';

/** How many differences of a request are shown. */
const MAX_SHOWN = 5;
/** How many characters of a value, a name or a pointer are shown. */
const MAX_TEXT = 200;

/** `session.mcpcap and node: 2 of 8 requests differ`. */
export function summaryText({ before, after, comparison }: ComparisonReport): string {
  return `${before} and ${after}: ${summaryOf(comparison)}`;
}

/** A report to read on a terminal, at most 80 columns wide. */
export function textReport(report: ComparisonReport): string {
  const { comparison, notRepeated = [], notes } = report;
  const lines = [...wrapped(safe(summaryText(report)), ''), ''];
  for (const request of comparison.requests) if (request.outcome !== 'same') lines.push(...requestLines(request), '');
  if (notRepeated.length > 0) {
    lines.push('Not repeated:');
    for (const { title, record, why, allow } of notRepeated) {
      const how = allow === undefined ? '' : `; to repeat it: --call ${safe(quoted(allow))}`;
      lines.push(...wrapped(`${safe(title)} (record ${record}): ${why}${how}`, '  ', '    '));
    }
    lines.push('');
  }
  lines.push(countsOf(comparison));
  for (const note of notes) lines.push(...wrapped(safe(note), ''));
  return `${lines.join('\n')}\n`;
}

function requestLines({ title, outcome, records, args, differences, count }: ComparedRequest): string[] {
  const numbers = records.filter((n) => n !== undefined).map(String);
  const where = numbers.length === 0 ? '' : ` (record${numbers.length > 1 ? 's' : ''} ${numbers.join(' and ')})`;
  const lines = wrapped(title === undefined ? 'outside of requests:' : `${outcome}: ${safe(title)}${where}`, '', '  ');
  if (args !== undefined) lines.push(...wrapped(`arguments: ${valueText(args)}`, '  ', '    '));
  for (const difference of differences.slice(0, MAX_SHOWN)) lines.push(...differenceLines(difference));
  if (count > MAX_SHOWN) lines.push(`  and ${count - MAX_SHOWN} more`);
  return lines;
}

function differenceLines({ what, method, pointer, before, after }: Difference): string[] {
  const place = [what, method, pointer].filter((each) => each !== undefined && each !== '').join(' ');
  return [
    ...wrapped(safe(place), '  ', '    '),
    ...wrapped(`before: ${valueText(before)}`, '    ', '      '),
    ...wrapped(`after:  ${valueText(after)}`, '    ', '      '),
  ];
}

function valueText(value: unknown): string {
  return value === undefined ? '(nothing)' : safe(JSON.stringify(value));
}

/** What a peer wrote, in one line. */
function safe(text: string): string {
  return printableLine(cut(text.slice(0, 2 * MAX_TEXT), MAX_TEXT));
}

/** A word for a shell, which may have been chosen by a peer. */
function quoted(word: string): string {
  return /^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
