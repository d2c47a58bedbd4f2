import { CHECKERS, type Allowance } from './checkers.ts';
import { Troubles, type Fact, type Subject, type Trouble } from './history.ts';

/** Histories with a planted violation, for the tests of the checkers. */

type Planted<F> = F extends unknown
  ? Omit<F, 'at' | 'about'> & { readonly at?: number; readonly about?: string }
  : never;

export const CALL = 'c1-1';
export const SESSION = 'c1@1';
export const START = 100_000;

/** A subject with these facts, which come one after the other, 10 ms apart. */
export function subjectOf(facts: readonly Planted<Fact>[], about = CALL): Subject {
  const timed = facts.map((fact, index) => ({ at: START + 10 * index, about, ...fact }));
  return { about, facts: timed.toSorted((a, b) => a.at - b.at) };
}

/** What the checkers find in these facts. */
export function judge(facts: readonly Planted<Fact>[], troubles: readonly Trouble[] = [], about = CALL) {
  const subject = subjectOf(facts, about);
  const all = new Troubles();
  all.list.push(...troubles);
  const allowed: Allowance[] = [];
  const found: Partial<Record<keyof typeof CHECKERS, string[]>> = {};
  for (const [name, check] of Object.entries(CHECKERS)) {
    const violations = check(subject, all, (allowance) => void allowed.push(allowance));
    if (violations.length > 0) found[name as keyof typeof CHECKERS] = violations;
  }
  return { found, allowed };
}

export const sent = (tool: string, more: object = {}) =>
  ({ what: 'sent', tool, bound: 1000, wire: true, resumes: true, ...more }) as const;

type How = 'result' | 'error' | 'refused' | 'lost' | 'cancelled' | 'timeout' | 'silent';
export const ended = (how: How, more: object = {}) =>
  ({ what: 'ended', how, text: how === 'result' ? CALL : 'what is wrong', notRun: false, ...more }) as const;

export const run = (tool: string, name = 'r1') => ({ what: 'run', run: name, process: 'p1', tool }) as const;
export const step = (n: number, of = CALL) => ({ what: 'step', of, n }) as const;

export const trouble = (what: Trouble['what'], process?: string, from = START, until = from): Trouble => ({
  what,
  process,
  from,
  until,
});
