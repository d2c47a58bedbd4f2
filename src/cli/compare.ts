import { basename } from 'node:path';
import { compareSessions } from '../replay/compare.ts';
import type { ComparisonReport } from './comparison/comparison-report.ts';
import { jsonReport } from './comparison/json-report.ts';
import { summaryText, textReport } from './comparison/text-report.ts';
import { ExitCode } from './failure.ts';
import { keepInputs } from './keep-input.ts';
import { recordedSession } from './recorded-session.ts';
import type { ComparisonFlags } from './replay-options.ts';
import { writeText } from './report-file.ts';

/** `everwire compare`: shows what differs between two recordings. */
export async function compare(before: string, after: string, flags: ComparisonFlags): Promise<void> {
  await keepInputs(flags, before, after);
  const [first, second] = [await recordedSession(before), await recordedSession(after)];
  const comparison = await compareSessions(first.calls, second.calls, { ignore: flags.ignore });
  await writeComparison(
    { before: basename(before), after: basename(after), comparison, notes: [...first.notes, ...second.notes] },
    flags,
  );
  if (comparison.differs) process.exitCode = ExitCode.Refused;
}

const WRITERS: Readonly<Record<ComparisonFlags['format'], (report: ComparisonReport) => string>> = {
  text: textReport,
  json: jsonReport,
};

/** Writes a report to stdout, or to the file of `--out`. @throws Failure with code 1 if it cannot be written. */
export function writeComparison(report: ComparisonReport, { format, out }: ComparisonFlags): Promise<void> {
  return writeText(WRITERS[format](report), out, summaryText(report));
}
