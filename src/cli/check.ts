import { basename } from 'node:path';
import { Linter, RULES } from '../lint/index.ts';
import { ReportBuilder, summaryText, type CheckReport } from './check/check-report.ts';
import { jsonReport } from './check/json-report.ts';
import { junitReport } from './check/junit-report.ts';
import { sarifReport } from './check/sarif-report.ts';
import { textReport } from './check/text-report.ts';
import type { CheckFlags } from './check-options.ts';
import { ExitCode, Failure } from './failure.ts';
import { keepInputs } from './keep-input.ts';
import { openRecording, recordsOf } from './open-recording.ts';
import { writeText } from './report-file.ts';
import type { SplitWords } from './take-target.ts';
import { isUrl } from './target.ts';

const WRITERS: Readonly<Record<CheckFlags['format'], (report: CheckReport) => string>> = {
  text: textReport,
  json: jsonReport,
  junit: junitReport,
  sarif: sarifReport,
};

/** `everwire check`: judges a server or a recording by the rules of the specification. */
export async function check({ words, command }: SplitWords, flags: CheckFlags): Promise<void> {
  const [first, ...others] = words;
  if (command !== undefined || first === undefined || !isFile(first)) {
    const { checkServer } = await import('./check-server.ts');
    return checkServer({ words, command }, flags, writeReport);
  }
  if (others.length > 0) throw Failure.usage(`check takes only a target, and not ${JSON.stringify(others[0])}`);
  if (flags.record !== undefined) throw Failure.usage('--record cannot be used with a recording');
  await keepInputs(flags, first);
  const report = await checkRecording(first);
  await writeReport(report, flags);
  if (report.counts.error > 0) process.exitCode = ExitCode.Refused;
}

/** Whether a word is the path of a recording, and neither a URL nor a name in mcp.json. */
function isFile(word: string): boolean {
  return word.endsWith('.mcpcap') || (!isUrl(word) && /[/\\]/.test(word));
}

async function checkRecording(file: string): Promise<CheckReport> {
  const builder = new ReportBuilder(basename(file), RULES);
  const linter = new Linter();
  const notes: string[] = [];
  let hasGaps = false;
  const recording = await openRecording(file);
  for await (const record of recordsOf(recording, file)) {
    hasGaps ||= record.layer === 'gap';
    for (const finding of await linter.add(record)) builder.add(finding);
  }
  if (recording.truncated) notes.push('The recording ends with an incomplete line.');
  if (hasGaps) notes.push('Records are missing in the recording, so some rules judged less.');
  return builder.report(linter.exercised, notes);
}

/** Writes a report to stdout, or to the file of `--out`. */
function writeReport(report: CheckReport, { format, out }: CheckFlags): Promise<void> {
  return writeText(WRITERS[format](report), out, `${report.target}: ${summaryText(report)}`);
}
