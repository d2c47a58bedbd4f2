import { allowManyListeners } from './many-listeners.ts';

/**
 * Calls a listener when a signal fires. Many calls may share one signal, and Node warns of a leak at the eleventh
 * listener. This avoids the warning.
 */
export function onAborted(signal: AbortSignal, listener: () => void): void {
  allowManyListeners(signal);
  signal.addEventListener('abort', listener);
}
