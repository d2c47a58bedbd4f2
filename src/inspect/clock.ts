/** Counts microseconds from its creation. Never goes back. */
export interface Clock {
  readonly started: Date;
  readonly now: () => number;
}

export function startClock(): Clock {
  const origin = performance.now();
  return { started: new Date(), now: () => Math.round((performance.now() - origin) * 1000) };
}
