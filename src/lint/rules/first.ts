import type { Outcome } from '../rule.ts';

/** The outcome of the first one with a breach. Undefined if there is nothing to judge. */
export function first<T>(all: readonly T[], check: (one: T) => Outcome): Outcome {
  let outcome: Outcome;
  for (const one of all) {
    const next = check(one);
    if (typeof next === 'string') return next;
    outcome ??= next;
  }
  return outcome;
}
