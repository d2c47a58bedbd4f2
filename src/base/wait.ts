import { inNextTurn } from './next-turn.ts';
import { startTimer, type Timer } from './timer.ts';

/** Conditions that end a wait early. */
export interface WaitLimits {
  /** The wait rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds. Default: forever. */
  readonly timeout?: number | undefined;
  /** Creates the error that the wait rejects with after `timeout`. */
  readonly timeoutError?: (() => Error) | undefined;
}

/**
 * Settles like the work, or rejects when the signal fires or the time is over. This ends only the wait: the work
 * continues, and its later failure is ignored.
 *
 * @throws the work's error, the signal's reason, or the error from `timeoutError`.
 */
export async function waitFor<T>(work: Promise<T>, { signal, timeout = 0, timeoutError }: WaitLimits): Promise<T> {
  let stop!: () => void;
  let timer: Timer;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal?.reason as Error);
    timer = startTimer(timeout, () => reject(timeoutError?.() ?? new Error(`Timed out after ${timeout} ms`)));
  });
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  try {
    return await Promise.race([work, stopped]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Resolves when the work is done or the signal fires, whichever comes first. @throws the error of the work, if it fails first. */
export async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  try {
    await waitFor(work, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Waits for some milliseconds, or until the signal fires. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return waitFor(new Promise<void>(() => {}), { signal, timeout: Math.max(1, milliseconds) }).catch(() => {});
}

/** Waits for some milliseconds. Does not keep the process alive. */
export function idlePause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds).unref?.());
}

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise(inNextTurn);
}
