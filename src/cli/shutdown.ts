import { say } from './say.ts';

type Release = () => Promise<void>;

const releases: Release[] = [];
let stopping: Promise<void> | undefined;

/** From now on the signals that end a process end it in order: what was taken is released first. A second one does not wait. */
export function stopOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(process.exitCode || 1);
      void stop();
    });
  }
}

/** How often a parent is looked for, in milliseconds. */
const PARENT_POLL = 500;

/**
 * Where npm started the process, a shell stands between them that passes no signal on: npm would end and the server
 * would not. So the end of that shell is taken for one.
 */
export function stopWithNpm(): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent && !stopping) void stop();
  }, PARENT_POLL).unref();
}

/** Adds what is to be released at the end, before all that was added earlier. */
export function atEnd(release: Release): void {
  releases.unshift(release);
}

/** Releases everything and ends the process, with `process.exitCode`. */
export function stop(): Promise<void> {
  stopping ??= releaseAll().finally(() => process.exit());
  return stopping;
}

async function releaseAll(): Promise<void> {
  for (const release of releases) {
    try {
      await release();
    } catch (error) {
      say((error as Error).message);
      process.exitCode = 1;
    }
  }
}
