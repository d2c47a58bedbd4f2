import { describe, expect, test } from 'vitest';
import { complaints, excusedOf, report, SETS, shownScores, skipped, tally } from './score.ts';
import { runClientSuite, type SuiteRun } from './suite.ts';

const excused = excusedOf('client');

/** A feature that no client without a handshake has, and that one scenario of 2026-07-28 requires. */
const unsent = new Set(['ClientMcpMethodHeader_initialize', 'ClientMcpMethodHeader_notifications_initialized']);

/** The path has no spaces, where the suite would split it, unless Node itself is in such a folder. */
const node = process.execPath.includes(' ') ? 'node' : process.execPath;
const COMMAND = `${node} test/conformance/fixture-client.mjs`;

// One after another, because the suite starts all clients of a set at once.
const runs: SuiteRun[] = [];
for (const { selection } of SETS) runs.push(await runClientSuite(COMMAND, selection));
const played = SETS.map(({ title }, index) => ({ title, run: runs[index]! }));
for (const { title, run } of played) console.info(report('client', title, run));

describe.each(played)('the official suite for clients: scenarios $title', ({ run }) => {
  test.each(run.scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    expect(complaints(scenario, excused)).toEqual([]);
  });

  test('no scenario is skipped that could run', () => {
    expect(
      skipped(run)
        .map(({ name }) => name)
        .filter((name) => !unsent.has(name)),
    ).toEqual([]);
  });

  test('no scored scenario fails, and no scenario passes that is expected to fail', () => {
    expect(run.exitCode, run.output).toBe(0);
  });
});

test('npm starts the client that the suite tests', async () => {
  const { exitCode, output } = await runClientSuite('npm run -s fixture:client --', ['--scenario', 'initialize']);
  expect(exitCode, output).toBe(0);
});

test('docs/testing.md has the number of passing client scenarios', () => {
  expect(shownScores('a client')).toEqual(runs.map(tally));
});
