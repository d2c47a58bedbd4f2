import { writeFile } from 'node:fs/promises';
import { fileProblem } from '../base/file-problem.ts';
import { ExitCode, Failure } from './failure.ts';
import { Output } from './output.ts';
import { printStatus } from './print-status.ts';

/**
 * Writes a report to stdout, or to the file of `--out`.
 *
 * @param summary is printed if the report itself is in a file. Default: nothing.
 * @param mode of a new file.
 * @throws Failure with code 1 if the file cannot be written.
 */
export async function writeText(text: string, out: string | undefined, summary?: string, mode = 0o666): Promise<void> {
  if (out === undefined) return new Output({}).text(text);
  try {
    await writeFile(out, text, { mode });
  } catch (error) {
    throw new Failure(ExitCode.Refused, `cannot write ${out}: ${fileProblem(error)}`, { cause: error });
  }
  if (summary !== undefined) printStatus(`${summary}; the report is in ${out}`);
}
