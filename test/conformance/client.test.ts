import { describe, expect, test } from 'vitest';
import { complaints, excusedOf, report, SETS, shownScores, skipped, tally } from './score.ts';
import { runClientSuite, type SuiteRun } from './suite.ts';

const excused = excusedOf('client');

/** What no client without a handshake sends, and the suite asks for in one scenario of 2026-07-28. */
const unsent = new Set(['ClientMcpMethodHeader_initialize', 'ClientMcpMethodHeader_notifications_initialized']);

/** Has no spaces, at which the suite would split it, unless Node itself is in such a place. */
const node = process.execPath.includes(' ') ? 'node' : process.execPath;
const COMMAND = `${node} test/conformance/fixture-client.mjs`;

// One after another: the suite starts all clients of a set at once.
const runs: SuiteRun[] = [];
for (const { selection } of SETS) runs.push(await runClientSuite(COMMAND, selection));
const played = SETS.map(({ title }, index) => ({ title, run: runs[index]! }));
for (const { title, run } of played) console.info(report('client', title, run));

describe.each(played)('the official suite, for clients: scenarios $title', ({ run }) => {
  test.each(run.scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    expect(complaints(scenario, excused)).toEqual([]);
  });

  test('nothing is skipped that could be run', () => {
    expect(
      skipped(run)
        .map(({ name }) => name)
        .filter((name) => !unsent.has(name)),
    ).toEqual([]);
  });

  test('nothing that is scored fails, and nothing that is expected to fail passes', () => {
    expect(run.exitCode, run.output).toBe(0);
  });
});

test('npm starts the client that the suite is to try', async () => {
  const { exitCode, output } = await runClientSuite('npm run -s fixture:client --', ['--scenario', 'initialize']);
  expect(exitCode, output).toBe(0);
}, 60_000);

test('docs/testing.md has the number of client scenarios that pass', () => {
  expect(shownScores('a client')).toEqual(runs.map(tally));
});
