import { abortController } from './abort-controller.ts';
import { allowManyListeners } from './many-listeners.ts';

/**
 * Calls a listener when a signal fires. Many calls may share one signal, and Node warns of a leak at the eleventh
 * listener. This avoids the warning.
 */
export function onAborted(signal: AbortSignal, listener: () => void): void {
  allowManyListeners(signal);
  signal.addEventListener('abort', listener);
}

/** A signal that fires when one of several does. */
export interface JoinedSignal {
  readonly signal: AbortSignal;
  /** To be called when the signal is no longer needed. */
  readonly release: () => void;
}

/**
 * Joins signals, of which some may live long. In Node 20, each `AbortSignal.any` leaves something in its sources for as long
 * as these live, and a signal of `AbortSignal.timeout` that nothing else refers to never fires.
 */
export function joined(...given: readonly (AbortSignal | undefined)[]): JoinedSignal {
  const signals = given.filter((signal) => signal !== undefined);
  const controller = abortController();
  const abort = (): void => controller.abort(signals.find(({ aborted }) => aborted)?.reason);
  for (const signal of signals) onAborted(signal, abort);
  if (signals.some(({ aborted }) => aborted)) abort();
  return {
    signal: controller.signal,
    release: () => {
      for (const signal of signals) signal.removeEventListener('abort', abort);
    },
  };
}
