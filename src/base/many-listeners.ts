import { setMaxListeners } from 'node:events';

/**
 * Lets a signal have many listeners. Node would warn of a leak at the eleventh. The limit is not 0, because `getMaxListeners`
 * of Node 20 throws then, and the `fetch` of undici 7 calls it. `many-listeners.browser.ts` replaces this in browsers.
 */
export function allowManyListeners(signal: AbortSignal): void {
  setMaxListeners(Infinity, signal);
}
