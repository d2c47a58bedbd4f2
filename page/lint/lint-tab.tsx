import type { JSX } from 'preact';
import { Portions } from '../ui/portions.tsx';
import { Visible } from '../ui/visible.tsx';
import type { WireRecord } from '../wire/wire-record.ts';
import type { WireView } from '../wire/wire-view.ts';
import { ClauseLink } from './clause-link.tsx';
import type { PageFinding } from './finding.ts';
import type { Lint } from './lint.ts';
import { RuleText } from './rule-text.tsx';
import { SeverityIcon } from './severity-icon.tsx';

interface LintTabProps {
  readonly record: WireRecord;
  readonly lint: Lint;
  readonly view: WireView;
}

/** What is wrong with a record, or with several records of which it is one. */
export function LintTab({ record, lint, view }: LintTabProps): JSX.Element {
  void lint.version.value;
  const findings = lint.findings.of(record.n);
  if (findings.length > 0)
    return (
      <Portions items={findings}>
        {(finding, at) => <FindingView key={at} finding={finding} n={record.n} view={view} />}
      </Portions>
    );
  if (lint.problem.value === undefined && lint.judged < record.n)
    return <p class="empty">This record has not been judged yet.</p>;
  return <p class="empty">No rule has found anything wrong with this record.</p>;
}

function FindingView({ finding, n, view }: { finding: PageFinding; n: number; view: WireView }): JSX.Element {
  const { rule, severity, right, seen, records } = finding;
  const others = records.filter((each) => each !== n);
  return (
    <article class={`finding ${severity}`}>
      <h3>
        <SeverityIcon severity={severity} />
        <span class="finding-severity">{severity}</span> <code>{rule}</code>
      </h3>
      <dl class="wire-facts">
        <dt>Seen</dt>
        <dd>
          <Visible text={seen} />
        </dd>
        <dt>Right</dt>
        <dd>
          <RuleText text={right} />
        </dd>
        <dt>Clause</dt>
        <dd>
          <ClauseLink finding={finding} />
        </dd>
        {others.length > 0 && (
          <>
            <dt>See also</dt>
            <dd class="finding-records">
              {others.map((each) => (
                <button type="button" key={each} onClick={() => view.show(each)}>
                  #{each}
                </button>
              ))}
            </dd>
          </>
        )}
      </dl>
      <p class="toolbar">
        <button type="button" onClick={() => view.setFilter(`rule:${rule}`)}>
          Show all of this rule
        </button>
      </p>
    </article>
  );
}
