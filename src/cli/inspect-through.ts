import { constants } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { createBreakpoints } from '../inspector/create-breakpoints.ts';
import { lineGates } from '../inspector/line-gate.ts';
import { tapStreams } from '../transport/wiretap.ts';
import { detailOf } from './choices.ts';
import { ExitCode, Failure } from './failure.ts';
import type { InspectFlags } from './inspect-options.ts';
import { printStatus } from './print-status.ts';
import { observe } from './recording.ts';
import { atEnd, passSignals, stop } from './shutdown.ts';
import type { SplitWords } from './take-target.ts';
import { commandTarget, nameOf } from './target.ts';
import { passThrough, startThrough, type ThroughChild } from './through-child.ts';

/** How long to wait until a signal ends this process, in milliseconds. */
const SIGNAL_TIMEOUT = 1000;

/**
 * `everwire inspect --through`: starts a command as its host would. Passes on every byte of stdin, stdout and stderr,
 * their ends, signals and the exit code. The page shows these bytes, and its rules can hold and change lines.
 */
export async function inspectThrough({ words, command }: SplitWords, flags: InspectFlags): Promise<void> {
  if (words.length > 0 || command === undefined) throw Failure.usage('--through needs -- and a command');
  if (flags.saved !== undefined) throw Failure.usage('--saved cannot be used with --through');
  const { record: file, port = 0 } = flags;
  const target = commandTarget(command);
  /** Ends this process as the command ended. Added first, so that it runs last. */
  let end = async (): Promise<void> => {};
  atEnd(() => end());
  let child: ThroughChild;
  const breakpoints = createBreakpoints({ clients: 'stdio', kill: () => child.killAll() });
  const wiretap = await observe({
    ...{ target: detailOf(target), file, page: { port, portOption: '--port' }, breakpoints },
    onpage: ({ href }) => printStatus(`inspector on ${href}`),
  });
  try {
    child = await startThrough(target.command, target.args);
  } catch (error) {
    throw new Failure(ExitCode.Unreachable, (error as Error).message, { cause: error });
  }
  passSignals((signal) => child.kill(signal));
  const { stdin: output, stdout: input, stderr } = child;
  const connection = { protocol: 'stdio', role: 'client', peer: nameOf(target) } as const;
  const untap = tapStreams(wiretap!, connection, { input, output, stderr });
  await passThrough(child, lineGates(breakpoints));
  untap();
  const { code, signal } = await child.exited;
  end = async () => {
    // An incomplete recording must not change the exit code that the host sees.
    process.exitCode = code ?? 128 + constants.signals[signal!];
    if (signal !== null) await endBy(signal);
  };
  await stop();
}

/** Ends this process with a signal. If the signal is ignored, the process ends with its exit code. */
async function endBy(signal: NodeJS.Signals): Promise<void> {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  await pause(SIGNAL_TIMEOUT);
}
