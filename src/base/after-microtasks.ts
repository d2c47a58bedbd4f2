/** Runs a function after everything that follows now without waiting, and before any other callback. */
export function afterMicrotasks(run: () => void): void {
  // Inside a microtask, `process.nextTick` runs after all microtasks that follow from it.
  queueMicrotask(() => process.nextTick(run));
}
