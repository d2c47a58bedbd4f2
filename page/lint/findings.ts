import { NONE, SEVERITIES, type Counts, type PageFinding, type Severity } from './finding.ts';

/** The most findings that are kept. */
const MAX_FINDINGS = 20_000;

/** The findings of one rule and severity. A rule may be an error in one revision and a warning in another. */
export interface RuleFindings extends Pick<PageFinding, 'rule' | 'area' | 'severity' | 'right'> {
  /** All that were found. */
  readonly count: number;
  /** Those that are kept, the oldest first. */
  readonly findings: readonly PageFinding[];
}

type MutableRule = { -readonly [Field in keyof RuleFindings]: RuleFindings[Field] } & { findings: PageFinding[] };

const NOTHING: readonly PageFinding[] = [];

/** What the linter has found, by record and by rule. */
export class Findings {
  readonly #max: number;
  #all: PageFinding[] = [];
  readonly #byRecord = new Map<number, PageFinding[]>();
  readonly #rules = new Map<string, MutableRule>();
  #counts: Counts = NONE;

  /** @param max the most findings that are kept. Above this, the oldest are dropped. */
  constructor(max = MAX_FINDINGS) {
    this.#max = max;
  }

  /** How many were found. */
  get counts(): Counts {
    return this.#counts;
  }

  /** How many are no longer kept. */
  get dropped(): number {
    return SEVERITIES.reduce((sum, severity) => sum + this.#counts[severity], 0) - this.#all.length;
  }

  /** By rule: the worst severity first, then the rule with the most findings. */
  get rules(): readonly RuleFindings[] {
    const rank = (severity: Severity): number => SEVERITIES.indexOf(severity);
    return [...this.#rules.values()].toSorted(
      (a, b) => rank(a.severity) - rank(b.severity) || b.count - a.count || a.rule.localeCompare(b.rule, 'en'),
    );
  }

  /** The ids of the rules with findings. */
  get ruleIds(): ReadonlySet<string> {
    return new Set([...this.#rules.values()].map(({ rule }) => rule));
  }

  /** The findings that a record shows, alone or with others. */
  of(n: number): readonly PageFinding[] {
    return this.#byRecord.get(n) ?? NOTHING;
  }

  /** The findings that a record shows best. Each finding is at one record only. */
  at(n: number): readonly PageFinding[] {
    const found = this.of(n);
    return found.length === 0 ? found : found.filter(({ records }) => records[0] === n);
  }

  add(findings: readonly PageFinding[]): void {
    const counts = { ...this.#counts };
    for (const finding of findings) {
      counts[finding.severity] += 1;
      this.#all.push(finding);
      for (const n of new Set(finding.records)) {
        const found = this.#byRecord.get(n);
        if (found) found.push(finding);
        else this.#byRecord.set(n, [finding]);
      }
      const rule = this.#ruleOf(finding);
      rule.count += 1;
      rule.findings.push(finding);
    }
    this.#counts = counts;
    // Drops several at a time, because the rest of the array moves each time.
    if (this.#all.length > this.#max * 1.05) this.#drop(this.#all.splice(0, this.#all.length - this.#max));
  }

  #ruleOf({ rule, area, severity, right }: PageFinding): MutableRule {
    const key = `${rule} ${severity}`;
    let found = this.#rules.get(key);
    if (!found) this.#rules.set(key, (found = { rule, area, severity, right, count: 0, findings: [] }));
    return found;
  }

  #drop(findings: readonly PageFinding[]): void {
    const dropped = new Set(findings);
    for (const n of new Set(findings.flatMap(({ records }) => records))) {
      const kept = this.of(n).filter((finding) => !dropped.has(finding));
      if (kept.length > 0) this.#byRecord.set(n, kept);
      else this.#byRecord.delete(n);
    }
    for (const rule of new Set(findings.map((finding) => this.#ruleOf(finding))))
      rule.findings = rule.findings.filter((finding) => !dropped.has(finding));
  }
}
