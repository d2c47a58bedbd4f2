import type { AuthorizedRevision, CheckStatus, StepId, StepRecord } from '../../auth/steps/step.ts';

/** How a walk through the authorization of a server went. */
export interface WalkReport {
  readonly target: string;
  readonly revision: AuthorizedRevision;
  readonly counts: Readonly<Record<CheckStatus, number>>;
  readonly steps: readonly StepRecord[];
  /** The step at which the client stops, if the walk ended there. */
  readonly stoppedAt?: StepId | undefined;
  /** Whether a check failed, or the client stops at a step. */
  readonly hasFailed: boolean;
}

export function walkReport(target: string, revision: AuthorizedRevision, steps: readonly StepRecord[]): WalkReport {
  const counts: Record<CheckStatus, number> = { passed: 0, failed: 0, warning: 0, 'not applicable': 0 };
  for (const { status } of steps.flatMap(({ checks }) => checks)) counts[status] += 1;
  const last = steps.at(-1);
  const stoppedAt = last?.outcome === 'stopped' && last.id !== 'revocation' ? last.id : undefined;
  const hasFailed = counts.failed > 0 || steps.some(({ outcome }) => outcome === 'stopped');
  return { target, revision, counts, steps, stoppedAt, hasFailed };
}
