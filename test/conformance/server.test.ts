import { describe, expect, test } from 'vitest';
import { complaints, excusedOf, report, SETS, shownScores, skipped, tally } from './score.ts';
import { runServerSuite, startFixture, type SuiteRun } from './suite.ts';

const excused = excusedOf('server');

/** Scenarios that the suite names but does not run, because it would look in the wrong place, as it says itself. */
const unrun = new Set(['tasks-status-notifications']);

// The suite runs before the tests are registered, because each scenario becomes a test. It waits most of the time, so
// the sets run at once.
let runs: SuiteRun[];
const fixture = await startFixture();
try {
  runs = await Promise.all(SETS.map(({ selection }) => runServerSuite(fixture.url, selection)));
} finally {
  await fixture.stop();
}
const played = SETS.map(({ title }, index) => ({ title, run: runs[index]! }));
for (const { title, run } of played) console.info(report('server', title, run));

describe.each(played)('the official suite: scenarios $title', ({ run }) => {
  test.each(run.scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    expect(complaints(scenario, excused)).toEqual([]);
  });

  test('no scenario is skipped that could run', () => {
    expect(
      skipped(run)
        .map(({ id }) => id)
        .filter((id) => !unrun.has(id)),
    ).toEqual([]);
  });

  test('no scored scenario fails, and no scenario passes that is expected to fail', () => {
    expect(run.exitCode, run.output).toBe(0);
  });
});

test('docs/testing.md has the number of passing scenarios', () => {
  expect(shownScores('a server')).toEqual(runs.map(tally));
});
