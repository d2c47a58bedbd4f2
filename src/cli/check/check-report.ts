import type { NotTried } from '../../check/survey.ts';
import type { Revision } from '../../protocol/revisions.ts';
import type { UpstreamRoute } from '../../wire/era-cache.ts';
import { AREAS, type Area, type Finding, type RuleInfo, type Severity } from '../../lint/index.ts';

/** All findings of one rule. */
export interface RuleFindings {
  readonly rule: RuleInfo;
  /** The first ones. */
  readonly findings: readonly Finding[];
  /** How many there are. */
  readonly count: number;
}

/** How many rules of an area had something to judge. */
export interface AreaCoverage {
  readonly area: Area;
  readonly rules: number;
  readonly exercised: number;
}

/** What only the check of a running server has. */
export interface LiveReport {
  /** The revisions that the server speaks, and how their messages travel. */
  readonly spoken: readonly { readonly revision: Revision; readonly route: UpstreamRoute }[];
  /** How much of the rules of an area it obeys, in percent, for areas with rules that could be tried. */
  readonly scores: readonly { readonly area: Area; readonly score: number }[];
  /** What was left out, and how to allow it. */
  readonly notTried: readonly NotTried[];
  /** Why rules could not be tried, by their ids. */
  readonly skipped: ReadonlyMap<string, string>;
}

/** The result of a check. */
export interface CheckReport {
  /** What was checked, to show to users: the name of a recording or of a command, or the URL of a server. */
  readonly target: string;
  /** Rules with findings: by area, those with the worst finding first, and in each area the worst first. */
  readonly breaches: readonly RuleFindings[];
  readonly counts: Readonly<Record<Severity, number>>;
  readonly coverage: readonly AreaCoverage[];
  /** Rules that had something to judge, and found nothing wrong. */
  readonly passed: readonly RuleInfo[];
  /** Rules that had nothing to judge. */
  readonly notExercised: readonly RuleInfo[];
  /** What else the reader must know, such as missing records. */
  readonly notes: readonly string[];
  readonly live?: LiveReport | undefined;
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, advice: 2 };
/** How much a rule counts in a score. */
const WEIGHT: Readonly<Record<Severity, number>> = { error: 4, warning: 2, advice: 1 };
/** How many findings of a rule are kept. */
const MAX_KEPT = 20;

/** Collects findings. */
export class ReportBuilder {
  readonly #target: string;
  readonly #rules: readonly RuleInfo[];
  readonly #found = new Map<string, { rule: RuleInfo; findings: Finding[]; count: number }>();

  constructor(target: string, rules: readonly RuleInfo[]) {
    this.#target = target;
    this.#rules = rules;
  }

  add(finding: Finding): void {
    const { rule } = finding;
    // A rule may be an error in one revision, and a warning in another.
    const key = `${rule.severity} ${rule.id}`;
    let found = this.#found.get(key);
    if (!found) this.#found.set(key, (found = { rule, findings: [], count: 0 }));
    found.count += 1;
    if (found.findings.length < MAX_KEPT) found.findings.push(finding);
  }

  /** @param exercised the ids of the rules that had something to judge. */
  report(
    exercised: ReadonlySet<string>,
    notes: readonly string[] = [],
    live?: Omit<LiveReport, 'scores'>,
  ): CheckReport {
    const breaches = [...this.#found.values()];
    const counts: Record<Severity, number> = { error: 0, warning: 0, advice: 0 };
    for (const { rule, count } of breaches) counts[rule.severity] += count;
    const worst = (area: Area): number =>
      Math.min(...breaches.filter(({ rule }) => rule.area === area).map(({ rule }) => RANK[rule.severity]));
    const coverage = AREAS.map((area) => {
      const rules = this.#rules.filter((rule) => rule.area === area);
      return { area, rules: rules.length, exercised: rules.filter(({ id }) => exercised.has(id)).length };
    });
    return {
      target: this.#target,
      breaches: breaches.toSorted(
        ({ rule: one }, { rule: other }) =>
          worst(one.area) - worst(other.area) ||
          AREAS.indexOf(one.area) - AREAS.indexOf(other.area) ||
          RANK[one.severity] - RANK[other.severity],
      ),
      counts,
      coverage: coverage.filter(({ rules }) => rules > 0),
      passed: this.#rules.filter(({ id }) => exercised.has(id) && !breaches.some(({ rule }) => rule.id === id)),
      notExercised: this.#rules.filter(({ id }) => !exercised.has(id)),
      notes,
      live: live && { ...live, scores: this.#scores(exercised) },
    };
  }

  #scores(exercised: ReadonlySet<string>): LiveReport['scores'] {
    const broken = new Set([...this.#found.values()].map(({ rule }) => rule.id));
    return AREAS.flatMap((area) => {
      const tried = this.#rules.filter((rule) => rule.area === area && exercised.has(rule.id));
      const weigh = (rules: readonly RuleInfo[]): number =>
        rules.reduce((sum, { severity }) => sum + WEIGHT[severity], 0);
      const obeyed = weigh(tried.filter(({ id }) => !broken.has(id)));
      return tried.length === 0 ? [] : [{ area, score: Math.floor((100 * obeyed) / weigh(tried)) }];
    });
  }
}

/** `2 errors`, `1 warning`, `no advice`. */
export function countText(count: number, one: string, many: string): string {
  return `${count === 0 ? 'no' : count} ${count === 1 ? one : many}`;
}

export function summaryText({ counts }: CheckReport): string {
  const { error, warning, advice } = counts;
  return [
    countText(error, 'error', 'errors'),
    countText(warning, 'warning', 'warnings'),
    advice === 0 ? 'no advice' : countText(advice, 'piece of advice', 'pieces of advice'),
  ].join(', ');
}
