import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runServerSuite, startFixture, type Scenario, type SuiteRun } from './suite.ts';

const baseline = fileURLToPath(new URL('expected-failures.yml', import.meta.url));
const excused = new Set([...readFileSync(baseline, 'utf8').matchAll(/^\s*- ([^\s#]+)/gm)].map((match) => match[1]!));

/** The checks that failed and are not excused. */
function failures({ name, checks }: Scenario): string[] {
  return checks
    .filter(({ id, status }) => status === 'FAILURE' && !excused.has(name) && !excused.has(`${name}:${id}`))
    .map(({ id, errorMessage }) => `${id}: ${errorMessage ?? 'failed'}`);
}

function score(revision: string, { scenarios }: SuiteRun): string {
  const rows = scenarios.map(({ name, checks }) => {
    const count = (wanted: string): number => checks.filter(({ status }) => status === wanted).length;
    const notes = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    const says = notes.map(({ id, status, errorMessage }) => `\n      ${status} ${id}: ${errorMessage ?? ''}`);
    return `  ${count('FAILURE') > 0 ? '✗' : '✓'} ${name}: ${count('SUCCESS')} of ${count('SUCCESS') + notes.length}${says.join('')}`;
  });
  const passed = scenarios.filter(({ checks }) => checks.every(({ status }) => status !== 'FAILURE')).length;
  return `Conformance of the server, ${revision}: ${passed} of ${scenarios.length} scenarios pass.\n${rows.join('\n')}`;
}

// The suite runs once, before the tests are known: each of its scenarios becomes one.
const revisions = ['2025-11-25'];
const runs = new Map<string, SuiteRun>();
const fixture = await startFixture();
try {
  for (const revision of revisions) {
    const run = await runServerSuite(fixture.url, revision, baseline);
    runs.set(revision, run);
    console.info(score(revision, run));
  }
} finally {
  await fixture.stop();
}

describe.each(revisions)('the official suite, %s', (revision) => {
  const { exitCode, output, scenarios } = runs.get(revision)!;

  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    expect(failures(scenario)).toEqual([]);
  });

  test('nothing required fails, and nothing that is expected to fail passes', () => {
    expect(exitCode, output).toBe(0);
  });
});
