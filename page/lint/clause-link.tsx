import type { JSX } from 'preact';
import { clauseUrl } from '../../src/lint/clause-url.ts';
import type { PageFinding } from './finding.ts';

/** A link to the specification. */
export function ClauseLink({ finding }: { finding: Pick<PageFinding, 'revision' | 'clause'> }): JSX.Element {
  return (
    <a href={clauseUrl(finding)} target="_blank" rel="noreferrer">
      {finding.revision}, {finding.clause}
      <span class="visually-hidden"> (opens in a new tab)</span>
    </a>
  );
}
