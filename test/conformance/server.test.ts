import { describe, expect, test } from 'vitest';
import { complaints, excusedOf, report, SETS, shownScores, skipped, tally } from './score.ts';
import { runServerSuite, startFixture, type SuiteRun } from './suite.ts';

const excused = excusedOf('server');

/** What the suite has a name for and does not run: it says itself that it would look for it in the wrong place. */
const unrun = new Set(['tasks-status-notifications']);

// The suite runs before the tests are known: each of its scenarios becomes one. Most of its time it waits, and so the sets
// run at once.
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

  test('nothing is skipped that could be run', () => {
    expect(
      skipped(run)
        .map(({ id }) => id)
        .filter((id) => !unrun.has(id)),
    ).toEqual([]);
  });

  test('nothing that is scored fails, and nothing that is expected to fail passes', () => {
    expect(run.exitCode, run.output).toBe(0);
  });
});

test('docs/testing.md has the number of scenarios that pass', () => {
  expect(shownScores('a server')).toEqual(runs.map(tally));
});
