import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Check, Scenario, SuiteRun } from './suite.ts';

/** The scenarios and checks that are expected to fail. */
export const BASELINE = fileURLToPath(new URL('expected-failures.yml', import.meta.url));

// A required scenario must pass: only others may be expected to fail.
export const SETS = [
  { title: 'required of 2025-11-25', selection: ['--requirements', '2025-11-25'] },
  { title: 'required of 2026-07-28', selection: ['--requirements', '2026-07-28'] },
  { title: 'in all, extensions included', selection: ['--suite', 'all', '--expected-failures', BASELINE] },
] as const;

/** The expected failures of one side, as in its file: names of scenarios, or `scenario:check-id`. */
export function excusedOf(side: 'server' | 'client', file = BASELINE): ReadonlySet<string> {
  const section = new RegExp(`^${side}:(?:.*\\n(?:[ \\t#-].*\\n?)*)`, 'm').exec(readFileSync(file, 'utf8'))?.[0] ?? '';
  return new Set([...section.matchAll(/^\s*- ([^\s#]+)/gm)].map((match) => match[1]!));
}

/** The checks that failed or warned, and are not excused. */
export function complaints({ name, checks }: Scenario, excused: ReadonlySet<string>): string[] {
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .filter(({ id }) => !excused.has(name) && !excused.has(`${name}:${id}`))
    .map(({ id, status, errorMessage }) => `${status} ${id}: ${errorMessage ?? 'failed'}`);
}

export function skipped({ scenarios }: SuiteRun): Check[] {
  return scenarios.flatMap(({ checks }) => checks.filter(({ status }) => status === 'SKIPPED'));
}

/** How many scenarios pass of those that count and were run, as docs/testing.md shows it. */
export function tally({ scenarios }: SuiteRun): string {
  const counted = scenarios.filter((scenario) => scenario.scored && wasRun(scenario));
  const passed = counted.filter(({ checks }) => checks.every(({ status }) => status !== 'FAILURE'));
  return `${passed.length} of ${counted.length}`;
}

export function report(side: 'server' | 'client' | 'bridge', title: string, run: SuiteRun): string {
  const rows = run.scenarios.map((scenario) => {
    const { name, scored, checks, stderr } = scenario;
    if (!wasRun(scenario)) return `  - ${name}: not run by the suite ${stderr.trim()}`.trimEnd();
    const count = (wanted: string): number => checks.filter(({ status }) => status === wanted).length;
    const notes = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    const says = notes.map(({ id, status, errorMessage }) => `\n      ${status} ${id}: ${errorMessage ?? ''}`);
    const mark = count('FAILURE') > 0 ? '✗' : '✓';
    const where = scored ? '' : ' (not scored)';
    if (count('FAILURE') > 0 && stderr.trim() !== '') says.push(`\n      ${stderr.trim()}`);
    return `  ${mark} ${name}${where}: ${count('SUCCESS')} of ${count('SUCCESS') + notes.length}${says.join('')}`;
  });
  return `Conformance of the ${side}: ${tally(run)} scenarios ${title} pass.\n${rows.join('\n')}`;
}

/** The row of the table in docs/testing.md that shows how many scenarios pass, without its first cell. */
export function shownScores(what: string): string[] {
  const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');
  const rows = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.find(([, first]) => first === what)?.slice(2, -1) ?? [];
}

function wasRun({ checks }: Scenario): boolean {
  return checks.some(({ status }) => status !== 'SKIPPED');
}
