import { setMaxListeners } from 'node:events';

/** Calls a listener when a signal fires. Node warns of a leak at the eleventh listener of a signal, but many calls may share one. */
export function onAborted(signal: AbortSignal, listener: () => void): void {
  setMaxListeners(0, signal);
  signal.addEventListener('abort', listener);
}
