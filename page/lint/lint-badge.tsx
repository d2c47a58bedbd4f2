import type { JSX } from 'preact';
import { countsOf, countsText, SEVERITIES, type PageFinding } from './finding.ts';
import { SeverityIcon } from './severity-icon.tsx';

/** How many findings a row has. Advice is counted only if there is nothing worse. */
export function LintBadge({ findings }: { findings: readonly PageFinding[] }): JSX.Element | null {
  if (findings.length === 0) return null;
  const counts = countsOf(findings);
  const text = countsText(counts);
  const isWorse = counts.error + counts.warning > 0;
  return (
    <span class="lint-badge" role="img" aria-label={text} title={text}>
      {SEVERITIES.filter((each) => counts[each] > 0 && (each !== 'advice' || !isWorse)).map((each) => (
        <span key={each}>
          <SeverityIcon severity={each} />
          <span>{counts[each]}</span>
        </span>
      ))}
    </span>
  );
}
