import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileProblem } from '../base/file-problem.ts';
import { readRecording } from '../inspect/read-recording.ts';
import type { WireRecord } from '../inspect/record.ts';
import { Linter, RULES } from '../lint/index.ts';
import { ReportBuilder, summaryText, type CheckReport } from './check/check-report.ts';
import { jsonReport } from './check/json-report.ts';
import { junitReport } from './check/junit-report.ts';
import { sarifReport } from './check/sarif-report.ts';
import { textReport } from './check/text-report.ts';
import type { CheckFlags } from './check-options.ts';
import { ExitCode, Failure } from './failure.ts';
import { Output } from './output.ts';
import { printStatus } from './print-status.ts';
import type { SplitWords } from './take-target.ts';

const WRITERS: Readonly<Record<CheckFlags['format'], (report: CheckReport) => string>> = {
  text: textReport,
  json: jsonReport,
  junit: junitReport,
  sarif: sarifReport,
};

/** `everwire check`: judges a recording by the rules of the specification. */
export async function check({ words, command }: SplitWords, flags: CheckFlags): Promise<void> {
  const [file, ...others] = words;
  if (command !== undefined || (file !== undefined && /^https?:/.test(file)))
    throw Failure.usage('check reads a recording: record the server first, with --record of another command');
  if (file === undefined) throw Failure.usage('check needs a recording');
  if (others.length > 0) throw Failure.usage(`check takes only a recording, and not ${JSON.stringify(others[0])}`);
  const report = await checkRecording(file);
  await writeReport(report, flags);
  if (report.counts.error > 0) process.exitCode = ExitCode.Refused;
}

async function checkRecording(file: string): Promise<CheckReport> {
  const builder = new ReportBuilder(basename(file), RULES);
  const linter = new Linter();
  const notes: string[] = [];
  let gaps = 0;
  try {
    const recording = await readRecording(file);
    for await (const record of recording) {
      if (isLoss(record)) gaps += 1;
      for (const finding of await linter.add(record)) builder.add(finding);
    }
    if (recording.truncated) notes.push('The recording ends with an incomplete line.');
  } catch (error) {
    throw Failure.usage((error as Error).message);
  }
  if (gaps > 0) notes.push('Records are missing in the recording, so some rules judged less.');
  return builder.report(linter.exercised, notes);
}

function isLoss({ layer }: WireRecord): boolean {
  return layer === 'gap';
}

/** Writes a report to stdout, or to the file of `--out`. */
export async function writeReport(report: CheckReport, { format, out }: CheckFlags): Promise<void> {
  const text = WRITERS[format](report);
  if (out === undefined) return new Output({}).text(text);
  try {
    await writeFile(out, text);
  } catch (error) {
    throw new Failure(ExitCode.Refused, `cannot write ${out}: ${fileProblem(error)}`, { cause: error });
  }
  printStatus(`${report.target}: ${summaryText(report)}; the report is in ${out}`);
}
