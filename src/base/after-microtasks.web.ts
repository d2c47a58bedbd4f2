/** Replaces `after-microtasks.ts` in workers, which have no `process.nextTick`. */
export function afterMicrotasks(run: () => void): void {
  queueMicrotask(run);
}
