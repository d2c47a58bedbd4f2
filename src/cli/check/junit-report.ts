import type { Finding, RuleInfo } from '../../lint/index.ts';
import type { CheckReport, RuleFindings } from './check-report.ts';

/**
 * A report as JUnit XML: a suite for each area, and a test for each rule. Only errors are failures. Warnings and advice
 * are the output of a test that passes.
 */
export function junitReport({ target, breaches, coverage, passed, notExercised, live }: CheckReport): string {
  const cases = new Map<string, string[]>();
  const add = (rule: RuleInfo, body: string): void => {
    const open = `    <testcase classname="${xml(`everwire.${rule.area}`)}" name="${xml(rule.id)}"`;
    const testcase = body === '' ? `${open}/>` : `${open}>\n${body}\n    </testcase>`;
    cases.set(rule.area, [...(cases.get(rule.area) ?? []), testcase]);
  };
  for (const breach of breaches) add(breach.rule, bodyOf(breach));
  for (const rule of passed) add(rule, '');
  for (const rule of notExercised) {
    const why = live?.skipped.get(rule.id);
    add(rule, why === undefined ? '      <skipped/>' : `      <skipped message="${xml(why)}"/>`);
  }
  const suites = coverage.map(({ area }) => {
    const tests = cases.get(area) ?? [];
    const failures = breaches.filter(({ rule }) => rule.area === area && rule.severity === 'error').length;
    const skipped = notExercised.filter((rule) => rule.area === area).length;
    const numbers = `tests="${tests.length}" failures="${failures}" errors="0" skipped="${skipped}"`;
    return `  <testsuite name="${xml(area)}" ${numbers}>\n${tests.join('\n')}\n  </testsuite>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="${xml(target)}">\n${suites.join('\n')}\n</testsuites>\n`;
}

function bodyOf({ rule, findings, count }: RuleFindings): string {
  const lines = findings.map(lineOf);
  if (count > findings.length) lines.push(`and ${count - findings.length} more`);
  const text = xml(lines.join('\n'));
  return rule.severity === 'error'
    ? `      <failure type="${xml(rule.id)}" message="${xml(rule.right)}">${text}</failure>`
    : `      <system-out>${xml(`${rule.severity}: ${rule.right}`)}\n${text}</system-out>`;
}

function lineOf({ seen, revision, clause, records: [n] }: Finding): string {
  return `${seen} (${revision}, ${clause}${n === undefined ? '' : `; record ${n}`})`;
}

/** Text without what XML 1.0 gives a meaning, or forbids. */
function xml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/[^\t\n\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\u{FFFD}');
}
