import { parse } from 'node:path';
import { fileProblem } from '../base/file-problem.ts';
import { RecordingError } from '../inspect/read-recording.ts';
import type { MockServer } from '../mock/mock-server.ts';
import { ExitCode, Failure } from './failure.ts';
import type { MockFlags } from './mock-options.ts';
import { printStatus } from './print-status.ts';
import { run } from './run.ts';
import { atEnd } from './shutdown.ts';

/**
 * `everwire mock`: serves a recording.
 *
 * @throws Failure with code 2 if there is no such file, and 1 if it cannot be served.
 */
export async function mock(file: string, flags: MockFlags): Promise<void> {
  const server = await open(file, flags);
  atEnd(() => server.close());
  await run(parse(file).name, server, flags);
}

async function open(file: string, { fast, lenient }: MockFlags): Promise<MockServer> {
  const { mockServer } = await import('../mock/mock-server.ts');
  try {
    return await mockServer(file, {
      fast,
      lenient,
      onmiss: ({ message }) => printStatus(message),
      onerror: ({ message }) => printStatus(message),
    });
  } catch (error) {
    if (error instanceof RecordingError) throw new Failure(ExitCode.Refused, error.message);
    if ((error as NodeJS.ErrnoException).code !== undefined)
      throw Failure.usage(`cannot read ${file}: ${fileProblem(error)}`);
    throw new Failure(ExitCode.Refused, `${file}: ${(error as Error).message}`);
  }
}
