import { ExitCode, Failure } from './failure.ts';
import { printStatus } from './print-status.ts';

type Release = () => Promise<void>;

const releases: Release[] = [];
const lastReleases: Release[] = [];
let stopping: Promise<void> | undefined;
const ending = new AbortController();

/** Fires when the process is about to end. Its reason is a `Failure`. */
export const endSignal: AbortSignal = ending.signal;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
let onsignal = (_signal: NodeJS.Signals): void => {
  if (stopping) process.exit(process.exitCode || 1);
  // What runs until a signal ends it has something to release. Without that, the command has not done its work.
  if (releases.length === 0) process.exitCode ??= ExitCode.Interrupted;
  void stop();
};

/**
 * From now on, a terminating signal releases all resources before the process ends. A second signal ends it at once.
 */
export function stopOnSignals(): void {
  for (const signal of SIGNALS) process.on(signal, () => onsignal(signal));
}

/** From now on, signals go to another process, whose end ends this one. */
export function passSignals(pass: (signal: NodeJS.Signals) => void): void {
  onsignal = pass;
  process.on('SIGQUIT', pass);
}

/** From now on, a second signal changes nothing. Another process decides when this one ends at once. */
export function stopOnlyOnce(): void {
  onsignal = () => void stop();
}

/** How often to check whether the parent still runs, in milliseconds. */
const PARENT_POLL = 500;

/**
 * If npm started the process, there is a shell in between that does not forward signals: npm would end and the server
 * would not. So the end of that shell counts as a signal.
 */
export function stopWithNpm(): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent && !stopping) void stop();
  }, PARENT_POLL).unref();
}

/** Adds a release function. The last one added runs first. */
export function atEnd(release: Release): void {
  releases.unshift(release);
}

/** Adds a release function that runs after those of `atEnd`. */
export function atLast(release: Release): void {
  lastReleases.push(release);
}

/** Whether the process is ending. What fails from now on fails because of that. */
export function isStopping(): boolean {
  return stopping !== undefined;
}

/** Releases everything and ends the process, with `process.exitCode`. */
export function stop(): Promise<void> {
  stopping ??= releaseAll().finally(() => process.exit());
  ending.abort(new Failure(ExitCode.Interrupted, 'interrupted'));
  return stopping;
}

async function releaseAll(): Promise<void> {
  for (const list of [releases, lastReleases]) {
    for (const release of list) {
      try {
        await release();
      } catch (error) {
        printStatus((error as Error).message);
        process.exitCode = 1;
      }
    }
  }
}
