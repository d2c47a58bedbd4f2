import { printableLine } from '../base/printable.ts';
import { cutText } from '../base/short-text.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { Finding, RuleInfo } from './rule.ts';

/** How much of what was seen a finding shows, in UTF-16 code units. */
const MAX_SEEN = 240;

/**
 * A breach of a rule, with escapes for what a peer wrote.
 *
 * @param revision one in which the rule holds.
 * @param records the numbers of the records that show it. Those that are not known are 0.
 * @param seen what was seen.
 */
export function findingOf(rule: RuleInfo, revision: Revision, records: readonly number[], seen: string): Finding {
  return {
    rule: rule.warningIn?.includes(revision) ? { ...rule, severity: 'warning' } : rule,
    revision,
    clause: rule.clauses[revision] ?? '',
    records: records.filter((n) => n > 0),
    seen: printableLine(cutText(seen, MAX_SEEN)),
  };
}
