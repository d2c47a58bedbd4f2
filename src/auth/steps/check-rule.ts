import { printableLine } from '../../base/printable.ts';
import { cutText } from '../../base/short-text.ts';
import { secretScrubber } from '../scrub.ts';
import type { Facts } from './facts.ts';
import type { AuthorizedRevision, CheckResult, StepId } from './step.ts';

/** Why a check has nothing to judge. */
export interface NotApplicable {
  readonly because: string;
}

/** What a check says: true if it is right, or what was seen instead, or why it has nothing to judge. */
export type Judgement = true | string | NotApplicable;

/** A check of a step, as data. */
export interface CheckRule {
  /** Stable, in kebab-case. */
  readonly id: string;
  readonly step: StepId;
  /** Whether the specification demands it, or only advises it. */
  readonly level: 'must' | 'should';
  /** The revisions that only advise what the others demand. Default none. */
  readonly shouldIn?: readonly AuthorizedRevision[] | undefined;
  /**
   * The page of the specification with its anchor, for each revision in which the check holds. Undefined if only an RFC
   * says it: then it holds in every revision.
   */
  readonly clauses?: Clauses | undefined;
  /** The RFC and the section. */
  readonly rfc?: string | undefined;
  /** What is right, in one line. */
  readonly right: string;
  judge(facts: Facts): Judgement;
}

type Clauses = Readonly<Partial<Record<AuthorizedRevision, string>>>;

const PAGE = 'basic/authorization';

/**
 * The clauses in 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28, in this order: an anchor of `basic/authorization`,
 * or a page below it with an anchor. Undefined where a check does not hold.
 */
export function clauses(...anchors: readonly (string | undefined)[]): Clauses {
  const [first, second, third, fourth] = anchors.map((anchor) =>
    anchor === undefined ? undefined : anchor.includes('#') ? `${PAGE}/${anchor}` : `${PAGE}#${anchor}`,
  );
  return {
    ...(first !== undefined && { '2025-03-26': first }),
    ...(second !== undefined && { '2025-06-18': second }),
    ...(third !== undefined && { '2025-11-25': third }),
    ...(fourth !== undefined && { '2026-07-28': fourth }),
  };
}

export function notApplicable(because: string): NotApplicable {
  return { because };
}

/** How much of what was seen is shown, in UTF-16 code units. */
const MAX_SEEN = 300;

/** Judges a step by a rule. */
export function judged(rule: CheckRule, facts: Facts, secrets: readonly string[]): CheckResult {
  const { id, right, rfc } = rule;
  const { revision } = facts;
  const clause = rule.clauses?.[revision];
  const about = {
    ...{ id, right },
    ...(clause !== undefined && { clause, url: `https://modelcontextprotocol.io/specification/${revision}/${clause}` }),
    ...(rfc !== undefined && { rfc }),
  };
  if (rule.clauses && clause === undefined)
    return { ...about, status: 'not applicable', seen: `${revision} does not say this` };
  const judgement = rule.judge(facts);
  if (judgement === true) return { ...about, status: 'passed' };
  const seen = shownLine(typeof judgement === 'string' ? judgement : judgement.because, secrets);
  if (typeof judgement !== 'string') return { ...about, status: 'not applicable', seen };
  const isAdvice = rule.level === 'should' || rule.shouldIn?.includes(revision) === true;
  return { ...about, status: isAdvice ? 'warning' : 'failed', seen };
}

/** A text that may quote a server, as one safe line without secrets. */
export function shownLine(text: string, secrets: readonly string[]): string {
  return cutText(printableLine(secretScrubber(secrets)(text)), MAX_SEEN);
}
