import { setMaxListeners } from 'node:events';

/**
 * Calls a listener when a signal fires. Many calls may share one signal, and Node warns of a leak at the eleventh
 * listener. This avoids the warning.
 */
export function onAborted(signal: AbortSignal, listener: () => void): void {
  setMaxListeners(0, signal);
  signal.addEventListener('abort', listener);
}
