import type { Finding } from '../../src/lint/rule.ts';

/** What is seen of a finding. */
export interface PageFinding extends Omit<Finding, 'rule'> {
  /** The id of the rule. */
  readonly rule: string;
  readonly area: string;
  readonly severity: Severity;
  /** What is right, in one line. */
  readonly right: string;
}

/** How bad a finding is, the worst first. */
export const SEVERITIES = ['error', 'warning', 'advice'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** How many findings there are of each severity. */
export type Counts = Readonly<Record<Severity, number>>;

export const NONE: Counts = { error: 0, warning: 0, advice: 0 };

export function countsOf(findings: readonly Pick<PageFinding, 'severity'>[]): Counts {
  const counts = { ...NONE };
  for (const { severity } of findings) counts[severity] += 1;
  return counts;
}

const WORDS: Readonly<Record<Severity, readonly [one: string, many: string]>> = {
  error: ['error', 'errors'],
  warning: ['warning', 'warnings'],
  advice: ['piece of advice', 'pieces of advice'],
};

/** `2 errors, 1 warning`. Empty if there is nothing. */
export function countsText(counts: Counts): string {
  return SEVERITIES.filter((severity) => counts[severity] > 0)
    .map((severity) => `${counts[severity].toLocaleString('en')} ${WORDS[severity][counts[severity] === 1 ? 0 : 1]}`)
    .join(', ');
}
