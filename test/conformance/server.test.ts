import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runServerSuite, startFixture, type Scenario, type SuiteRun } from './suite.ts';

const baseline = fileURLToPath(new URL('expected-failures.yml', import.meta.url));
const excused = new Set([...readFileSync(baseline, 'utf8').matchAll(/^\s*- ([^\s#]+)/gm)].map((match) => match[1]!));

/** What the suite has a name for and does not run: it says itself that it would look for it in the wrong place. */
const unrun = new Set(['tasks-status-notifications']);

// What a revision requires has no excuse: what is expected to fail can only be a scenario beyond that.
const SETS = [
  { title: 'required of 2025-11-25', selection: ['--requirements', '2025-11-25'] },
  { title: 'required of 2026-07-28', selection: ['--requirements', '2026-07-28'] },
  { title: 'in all, extensions included', selection: ['--suite', 'all', '--expected-failures', baseline] },
] as const;

/** The checks that failed, or brought a warning, and are not excused. */
function complaints({ name, checks }: Scenario): string[] {
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .filter(({ id }) => !excused.has(name) && !excused.has(`${name}:${id}`))
    .map(({ id, status, errorMessage }) => `${status} ${id}: ${errorMessage ?? 'failed'}`);
}

function wasRun({ checks }: Scenario): boolean {
  return checks.some(({ status }) => status !== 'SKIPPED');
}

/** How many scenarios of those that count and were run pass, as the README says it too. */
function tally({ scenarios }: SuiteRun): string {
  const counted = scenarios.filter((scenario) => scenario.scored && wasRun(scenario));
  const passed = counted.filter(({ checks }) => checks.every(({ status }) => status !== 'FAILURE'));
  return `${passed.length} of ${counted.length}`;
}

function report(title: string, run: SuiteRun): string {
  const rows = run.scenarios.map((scenario) => {
    const { name, scored, checks } = scenario;
    if (!wasRun(scenario)) return `  - ${name}: not run by the suite`;
    const count = (wanted: string): number => checks.filter(({ status }) => status === wanted).length;
    const notes = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    const says = notes.map(({ id, status, errorMessage }) => `\n      ${status} ${id}: ${errorMessage ?? ''}`);
    const mark = count('FAILURE') > 0 ? '✗' : '✓';
    const side = scored ? '' : ' (not scored)';
    return `  ${mark} ${name}${side}: ${count('SUCCESS')} of ${count('SUCCESS') + notes.length}${says.join('')}`;
  });
  return `Conformance of the server: ${tally(run)} scenarios ${title} pass.\n${rows.join('\n')}`;
}

// The suite runs before the tests are known: each of its scenarios becomes one. Most of its time it waits, and so the sets
// run at once.
const runs = new Map<string, SuiteRun>();
const fixture = await startFixture();
try {
  const made = await Promise.all(SETS.map(({ selection }) => runServerSuite(fixture.url, selection)));
  for (const [index, { title }] of SETS.entries()) runs.set(title, made[index]!);
} finally {
  await fixture.stop();
}
for (const [title, run] of runs) console.info(report(title, run));

describe.each(SETS)('the official suite: scenarios $title', ({ title }) => {
  const { exitCode, output, scenarios } = runs.get(title)!;

  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    expect(complaints(scenario)).toEqual([]);
  });

  test('nothing is skipped that could be run', () => {
    const skipped = scenarios.flatMap(({ checks }) => checks.filter(({ status }) => status === 'SKIPPED'));
    expect(skipped.map(({ id }) => id).filter((id) => !unrun.has(id))).toEqual([]);
  });

  test('nothing that is scored fails, and nothing that is expected to fail passes', () => {
    expect(exitCode, output).toBe(0);
  });
});

test('the README says how many scenarios pass', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');
  const [, said] = /official conformance suite \((.+?) pass\)/.exec(readme) ?? [];
  const [older, newer, all] = SETS.map(({ title }) => `${tally(runs.get(title)!)} scenarios ${title}`);
  expect(said).toBe(`${older}, ${newer}, and ${all},`);
});
