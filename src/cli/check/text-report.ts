import { printableLine } from '../../base/printable.ts';
import type { UpstreamRoute } from '../../wire/era-cache.ts';
import { wrapped } from '../wrapped.ts';
import { summaryText, type CheckReport, type LiveReport, type RuleFindings } from './check-report.ts';

/** How many findings of a rule are shown. */
const MAX_SHOWN = 3;
/** How many rules the report says to fix first. */
const MAX_FIRST = 3;

/** A report to read on a terminal, at most 80 columns wide. */
export function textReport(report: CheckReport): string {
  const { target, breaches, coverage, notes, live } = report;
  const lines = [...wrapped(printableLine(`${target}: ${summaryText(report)}`), ''), ''];
  const first = breaches.filter(({ rule }) => rule.severity === 'error').slice(0, MAX_FIRST);
  if (first.length > 0) {
    lines.push('Fix first:');
    for (const { rule } of first) lines.push(...wrapped(`${rule.id}: ${plain(rule.right)}`, '  '));
    lines.push('');
  }
  let area: string | undefined;
  for (const breach of breaches) {
    if (breach.rule.area !== area) {
      area = breach.rule.area;
      lines.push(`# ${area}`, '');
    }
    lines.push(...breachLines(breach), '');
  }
  if (live) lines.push(...liveLines(live));
  const rules = coverage.reduce((sum, each) => sum + each.rules, 0);
  const exercised = coverage.reduce((sum, each) => sum + each.exercised, 0);
  lines.push(`${exercised} of ${rules} rules had something to judge:`);
  lines.push(...wrapped(coverage.map((each) => `${each.area} ${each.exercised}/${each.rules}`).join(', '), '  '));
  if (notes.length > 0) lines.push('');
  for (const note of notes) lines.push(...wrapped(note, ''));
  return `${lines.join('\n')}\n`;
}

function breachLines({ rule, findings, count }: RuleFindings): string[] {
  const times = count === 1 ? '' : ` (${count} times)`;
  const lines = wrapped(`${rule.severity}: ${rule.id}${times}`, '  ');
  lines.push(...wrapped(`expected: ${plain(rule.right)}`, '    ', '      '));
  for (const { seen, records, revision, clause } of findings.slice(0, MAX_SHOWN)) {
    const [n] = records;
    const where = n === undefined ? '' : ` in record ${n}`;
    lines.push(...wrapped(`seen${where}: ${seen}`, '    ', '      '));
    lines.push(...wrapped(`clause: ${revision}, ${clause}`, '    ', '      '));
  }
  if (count > MAX_SHOWN) lines.push(`    and ${count - MAX_SHOWN} more`);
  return lines;
}

const ROUTES: Readonly<Record<UpstreamRoute, string>> = {
  connection: 'stdio',
  'streamable-http': 'Streamable HTTP',
  'http+sse': 'HTTP+SSE',
};

/** What the check did, and what it left out. */
function liveLines({ spoken, scores, notTried, skipped }: LiveReport): string[] {
  const lines = wrapped(
    `The server speaks ${spoken.map(({ revision, route }) => `${revision} (${ROUTES[route]})`).join(', ')}.`,
    '',
  );
  lines.push('', 'Scores:', ...wrapped(scores.map(({ area, score }) => `${area} ${score}%`).join(', '), '  '), '');
  if (notTried.length > 0) {
    lines.push('Not tried:');
    for (const { what, how } of notTried)
      lines.push(...wrapped(`${what}${how === undefined ? '' : `; to try: ${how}`}`, '  ', '    '));
    lines.push('');
  }
  if (skipped.size > 0) {
    lines.push('Rules that could not be tried:');
    for (const [id, why] of skipped) lines.push(...wrapped(`${id}: ${why}`, '  ', '    '));
    lines.push('');
  }
  return lines;
}

/** Without the marks for code. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}
