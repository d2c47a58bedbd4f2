import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';

/** What may wait for a reader of stderr when a child has exited, in bytes. Further output of it is left out. */
const MAX_UNREAD = 1024 * 1024;

/** The outputs that are not read until stderr takes more. */
const paused = new Set<Readable>();
let listens = false;

/**
 * Passes on to stderr what a child prints, as fast as stderr is read. When the child has exited, the rest is read at once.
 * Processes that it has left behind may go on printing: a closed pipe would end them. If nobody can read stderr any
 * more, the output is lost, as that of `console.error`.
 */
export function passOnToStderr(output: Readable, child: ChildProcess): void {
  const { stderr } = process;
  if (!listens) stderr.on('drain', resumeAll).on('close', resumeAll);
  listens = true;
  const hasExited = (): boolean => child.exitCode !== null || child.signalCode !== null;
  output.on('data', (chunk: Buffer) => {
    if (hasExited() && stderr.writableLength > MAX_UNREAD) return;
    if (stderr.write(chunk, ignoreError) || hasExited()) return;
    output.pause();
    paused.add(output);
  });
  output.once('close', () => paused.delete(output));
  // Its last output says why.
  child.once('exit', () => output.resume());
}

function resumeAll(): void {
  for (const output of paused) output.resume();
  paused.clear();
}

/** Without a listener, the error would end the process. */
function ignoreError(error?: Error | null): void {
  if (error && process.stderr.listenerCount('error') === 0) process.stderr.once('error', () => {});
}
