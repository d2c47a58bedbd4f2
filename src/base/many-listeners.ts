import { setMaxListeners } from 'node:events';

/**
 * Lets a signal have many listeners. Node would warn of a leak at the eleventh. `many-listeners.browser.ts` replaces this in
 * browsers.
 */
export function allowManyListeners(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}
