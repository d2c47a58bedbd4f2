import { printable } from '../../base/printable.ts';
import { clauseUrl } from '../../lint/clause-url.ts';
import type { CheckReport } from './check-report.ts';

/** A report for programs. */
export function jsonReport({ target, breaches, counts, coverage, notes, live }: CheckReport): string {
  const report = {
    target,
    counts,
    findings: breaches.flatMap(({ rule, findings, count }) =>
      findings.map((finding, at) => ({
        rule: rule.id,
        area: rule.area,
        severity: rule.severity,
        revision: finding.revision,
        clause: finding.clause,
        url: clauseUrl(finding),
        records: finding.records,
        seen: finding.seen,
        right: rule.right,
        // The last one that is listed stands for those that are not.
        ...(at === findings.length - 1 && count > findings.length && { more: count - findings.length }),
      })),
    ),
    coverage,
    notes,
    ...(live && {
      spoken: live.spoken,
      scores: live.scores,
      notTried: live.notTried,
      skipped: Object.fromEntries(live.skipped),
    }),
  };
  return `${printable(JSON.stringify(report, undefined, 2))}\n`;
}
