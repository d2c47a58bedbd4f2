import type { Revision } from '../protocol/revisions.ts';
import type { Clauses } from './rule.ts';

/** The revisions in which the use of what was not negotiated is only a SHOULD (basic/lifecycle: Operation). */
export const BEFORE_2025_06_18: readonly Revision[] = ['2024-11-05', '2025-03-26'];

/**
 * The clauses of a rule for the revisions 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28, in this order.
 * Undefined where the rule does not hold.
 */
export function clauses(
  first: string | undefined,
  second?: string,
  third?: string,
  fourth?: string,
  fifth?: string,
): Clauses {
  return {
    ...(first !== undefined && { '2024-11-05': first }),
    ...(second !== undefined && { '2025-03-26': second }),
    ...(third !== undefined && { '2025-06-18': third }),
    ...(fourth !== undefined && { '2025-11-25': fourth }),
    ...(fifth !== undefined && { '2026-07-28': fifth }),
  };
}

/**
 * The clauses of a rule that stand on one page, by their numbers in the revisions from 2024-11-05 on: undefined where the rule
 * does not hold, and an empty text for the page as a whole.
 *
 * @param modern the clause in 2026-07-28, if it is on another page.
 */
export function onPage(page: string, numbers: readonly (string | undefined)[], modern?: string): Clauses {
  const [first, second, third, fourth, fifth] = numbers.map((each) =>
    each === undefined ? each : `${page} ${each}`.trim(),
  );
  return clauses(first, second, third, fourth, fifth ?? modern);
}

/** The same clause in every revision. */
export function everywhere(clause: string): Clauses {
  return clauses(clause, clause, clause, clause, clause);
}
