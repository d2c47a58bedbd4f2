import { Deferred } from '../base/deferred.ts';
import { failureOf, Interrupted } from './exit.ts';
import { ExitCode, reportFailure } from './failure.ts';
import { atEnd, stop } from './shutdown.ts';
import { Terminal } from './terminal.ts';

/** What a command that runs to its end gets. */
export interface Running {
  /** Fires when the command is interrupted. */
  readonly signal: AbortSignal;
  readonly terminal: Terminal;
  /** To be called when the server was reached. Later failures are not failures to connect. */
  readonly reached: () => void;
}

/** Does the work of a command, and ends the process with the exit code that it resolves with. */
export async function untilDone(work: (running: Running) => Promise<ExitCode>): Promise<void> {
  const controller = new AbortController();
  const finished = new Deferred();
  let isDone = false;
  atEnd(async () => {
    if (!isDone) process.exitCode = ExitCode.Interrupted;
    controller.abort(new Interrupted('interrupted'));
    await finished.promise;
  });
  let wasReached = false;
  const terminal = new Terminal();
  const reached = (): void => {
    wasReached = true;
  };
  try {
    process.exitCode = await work({ signal: controller.signal, terminal, reached });
  } catch (error) {
    reportFailure(failureOf(error, wasReached));
  }
  isDone = true;
  terminal.close();
  finished.resolve();
  void stop();
}
