/** Replaces `many-listeners.ts` in browsers, which do not count listeners. */
export function allowManyListeners(_signal: AbortSignal): void {}
