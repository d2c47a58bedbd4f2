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

/** The result of a check. */
export interface CheckReport {
  /** What was checked, to show to users. */
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
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, advice: 2 };
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
  report(exercised: ReadonlySet<string>, notes: readonly string[] = []): CheckReport {
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
    };
  }
}

/** The page of the specification with a clause. */
export function clauseUrl({ revision, clause }: Finding): string {
  const [page = ''] = clause.split(/[ ;]/);
  return `https://modelcontextprotocol.io/specification/${revision}/${page}`;
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
    countText(advice, 'piece of advice', 'pieces of advice'),
  ].join(', ');
}
