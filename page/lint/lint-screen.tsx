import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Portions } from '../ui/portions.tsx';
import { Visible } from '../ui/visible.tsx';
import { countText, timeText } from '../wire/format.ts';
import type { RecordStore } from '../wire/record-store.ts';
import type { Wire } from '../wire/wire.ts';
import { ClauseLink } from './clause-link.tsx';
import { SEVERITIES, type PageFinding, type Severity } from './finding.ts';
import type { RuleFindings } from './findings.ts';
import type { Lint } from './lint.ts';
import { RuleText } from './rule-text.tsx';
import { SeverityIcon } from './severity-icon.tsx';

const NAMES: Readonly<Record<Severity, string>> = { error: 'Errors', warning: 'Warnings', advice: 'Advice' };
/** How many rules are open at first. */
const OPEN = 3;

const shown = signal<ReadonlySet<Severity>>(new Set(SEVERITIES));
/** The rules that the user has opened or closed. */
const opened = signal<ReadonlyMap<string, boolean>>(new Map());

interface LintScreenProps {
  readonly wire: Wire;
  readonly visible: boolean;
  /** Shows the screen Wire. */
  readonly onwire: () => void;
}

/** All findings, by rule. */
export function LintScreen({ wire, visible, onwire }: LintScreenProps): JSX.Element | null {
  const { lint, store } = wire;
  if (!visible) return null;
  void lint.version.value;
  const rules = lint.findings.rules.filter(({ severity }) => shown.value.has(severity));
  return (
    <div class="lint">
      <h2 class="visually-hidden">Lint</h2>
      <div class="lint-bar">
        <SeverityButtons lint={lint} />
        <Progress lint={lint} store={store} />
      </div>
      {lint.problem.value !== undefined && (
        <p class="notice bad" role="alert">
          Nothing more is judged: <Visible text={lint.problem.value} />
        </p>
      )}
      {rules.length === 0 ? (
        <NoFindings lint={lint} store={store} />
      ) : (
        <ul class="lint-rules">
          {rules.map((rule, at) => (
            <li key={keyOf(rule)}>
              <Rule rule={rule} isOpen={opened.value.get(keyOf(rule)) ?? at < OPEN} wire={wire} onwire={onwire} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function keyOf({ rule, severity }: RuleFindings): string {
  return `${rule} ${severity}`;
}

function SeverityButtons({ lint }: { lint: Lint }): JSX.Element {
  const { counts } = lint.findings;
  return (
    <div class="segments" role="group" aria-label="Severities">
      {SEVERITIES.map((severity) => (
        <button
          key={severity}
          type="button"
          aria-pressed={shown.value.has(severity)}
          onClick={() => {
            const next = new Set(shown.value);
            if (!next.delete(severity)) next.add(severity);
            shown.value = next;
          }}
        >
          <SeverityIcon severity={severity} /> {NAMES[severity]} {countText(counts[severity])}
        </button>
      ))}
    </div>
  );
}

/** A message that changes too often would be read aloud all the time, so this is no live region. */
function Progress({ lint, store }: { lint: Lint; store: RecordStore }): JSX.Element {
  const { judged, skipped, findings } = lint;
  const waiting = store.newest - judged;
  const parts = [
    waiting > 0 ? `${countText(judged)} of ${countText(store.newest)} records judged` : '',
    waiting > 0 ? '' : `${countText(judged)} records judged`,
    skipped > 0 ? `${countText(skipped)} were dropped before` : '',
    findings.dropped > 0 ? `only the newest ${countText(total(findings) - findings.dropped)} findings are kept` : '',
  ];
  return <p class="soft">{parts.filter(Boolean).join('; ')}</p>;
}

function total({ counts }: Lint['findings']): number {
  return SEVERITIES.reduce((sum, severity) => sum + counts[severity], 0);
}

function NoFindings({ lint, store }: { lint: Lint; store: RecordStore }): JSX.Element {
  const hidden = total(lint.findings);
  const text =
    hidden > 0
      ? 'All findings have a severity that is hidden.'
      : store.newest === 0
        ? 'Nothing has been recorded yet.'
        : 'No rule has found anything wrong.';
  return (
    <div class="empty">
      <p>{text}</p>
      {hidden === 0 && <p>Every record is judged by the rules of the revision that was negotiated.</p>}
    </div>
  );
}

interface RuleProps {
  readonly rule: RuleFindings;
  readonly isOpen: boolean;
  readonly wire: Wire;
  readonly onwire: () => void;
}

function Rule({ rule, isOpen, wire, onwire }: RuleProps): JSX.Element {
  const { view, store } = wire;
  const showAll = (): void => {
    view.setFilter(`rule:${rule.rule} lint:${rule.severity}`);
    onwire();
  };
  const showOne = (n: number): void => {
    view.show(n);
    onwire();
  };
  return (
    <details
      class={`lint-rule ${rule.severity}`}
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => {
        if (open !== isOpen) opened.value = new Map([...opened.value, [keyOf(rule), open]]);
      }}
    >
      <summary>
        <SeverityIcon severity={rule.severity} />
        <span class="finding-severity">{rule.severity}</span>
        <code>{rule.rule}</code>
        <span class="badge">{rule.area}</span>
        <span class="lint-count">
          {countText(rule.count)}
          <span class="visually-hidden"> findings</span>
        </span>
      </summary>
      {isOpen && (
        <div class="lint-body">
          <p>
            <RuleText text={rule.right} />
          </p>
          <p class="toolbar">
            {clausesOf(rule.findings).map((finding) => (
              <ClauseLink key={`${finding.revision} ${finding.clause}`} finding={finding} />
            ))}
            <button type="button" onClick={showAll}>
              Show in Wire
            </button>
          </p>
          <div class="lint-findings">
            <Portions items={rule.findings.toReversed()}>
              {(finding, at) => (
                <div key={rule.count - at}>
                  <Jump finding={finding} store={store} onshow={showOne} />
                  <span>
                    <Visible text={finding.seen} />
                  </span>
                </div>
              )}
            </Portions>
          </div>
        </div>
      )}
    </details>
  );
}

interface JumpProps {
  readonly finding: PageFinding;
  readonly store: RecordStore;
  readonly onshow: (n: number) => void;
}

/** Leads to the record that shows a finding best. */
function Jump({ finding, store, onshow }: JumpProps): JSX.Element {
  const [n] = finding.records;
  const record = n === undefined ? undefined : store.find(n);
  if (!record) return <span class="soft">{n === undefined ? 'no record' : `#${n}, no longer in memory`}</span>;
  return (
    <button type="button" onClick={() => onshow(record.n)}>
      #{record.n} <span class="soft">{timeText(record.t)}</span>
      <span class="visually-hidden"> in Wire</span>
    </button>
  );
}

/** The clauses of findings, each once. */
function clausesOf(findings: readonly PageFinding[]): readonly PageFinding[] {
  return [...new Map(findings.map((finding) => [`${finding.revision} ${finding.clause}`, finding])).values()];
}
