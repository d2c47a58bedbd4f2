import { say } from './say.ts';

type Release = () => Promise<void>;

const releases: Release[] = [];
let stopping: Promise<void> | undefined;

/** From now on the signals that end a process end it in order: what was taken is released first. A second one does not wait. */
export function stopOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      void stop();
    });
  }
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
