import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runThroughBridge, type BridgeRun, type Setup } from './bridge-run.ts';
import { complaints, excusedOf, testingPage, report, skipped, tally } from './score.ts';
import type { Scenario } from './suite.ts';

/** What a server with a handshake has no word for. */
const wordless = excusedOf('server', fileURLToPath(new URL('bridge-expected-failures.yml', import.meta.url)));

/** What the suite has a name for and does not run: it says itself that it would look for it in the wrong place. */
const unrun = new Set(['tasks-status-notifications']);

interface Cell extends Setup {
  readonly excused: ReadonlySet<string>;
}

function cells(requirements: Setup['requirements'], eras: Setup['eras'], excused = new Set<string>()): Cell[] {
  return (['stdio', 'HTTP'] as const).map((transport) => ({ requirements, eras, transport, excused }));
}

const [newerOnLegacy, newerOnModern, olderOnLegacy, olderOnModern] = [
  cells('2026-07-28', 'legacy', new Set(wordless)),
  cells('2026-07-28', 'modern'),
  cells('2025-11-25', 'legacy'),
  cells('2025-11-25', 'modern'),
];
// The longest first: they wait most of their time.
const CELLS = [newerOnLegacy, newerOnModern, olderOnLegacy, olderOnModern].flat();
/** Runs at a time: each has a bridge, a server and a suite of its own. */
const AT_ONCE = 4;

const runs = new Map<Cell, BridgeRun>();
const waiting = CELLS.values();
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (const cell of waiting) runs.set(cell, await runThroughBridge(cell));
  }),
);
const played = CELLS.map((cell) => {
  const title = `required of ${cell.requirements}, of a ${cell.eras} server behind the bridge over ${cell.transport},`;
  return [title, { ...cell, ...runs.get(cell)! }] as const;
});
for (const [title, { run }] of played) console.info(report('bridge', title, run));

describe.each(played)('the official suite through a bridge: scenarios %s', (_, { run, errors, excused }) => {
  test.each(run.scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (__, scenario) => {
    expect(complaints(scenario, excused)).toEqual([]);
  });

  test('nothing is skipped that could be run', () => {
    expect(
      skipped(run)
        .map(({ id }) => id)
        .filter((id) => !unrun.has(id)),
    ).toEqual([]);
  });

  test('nothing that is expected to fail passes', () => {
    const failing = new Set(run.scenarios.flatMap(failures));
    expect([...excused].filter((entry) => !failing.has(entry))).toEqual([]);
  });

  test('the bridge reports no errors', () => {
    expect(errors).toEqual([]);
  });
});

test('docs/testing.md has the number of scenarios that pass', () => {
  const [, said] = /official conformance suite through the bridge \((.+?)\)/.exec(testingPage()) ?? [];
  const own = `${score(olderOnLegacy)} scenarios required of 2025-11-25 and ${score(newerOnModern)} of 2026-07-28`;
  const across = `${score(olderOnModern)} and ${score(newerOnLegacy)}`;
  expect(said).toBe(`${own} pass with a server of their era behind it, ${across} with a server of the other era`);
});

/** What may be expected to fail in a scenario: each check that failed or brought a warning, and so the whole of it. */
function failures({ name, checks }: Scenario): string[] {
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  return failed.length > 0 ? [name, ...failed.map(({ id }) => `${name}:${id}`)] : [];
}

/** The same over stdio and HTTP. */
function score(both: readonly Cell[]): string {
  return [...new Set(both.map((cell) => tally(runs.get(cell)!.run)))].join(' or ');
}
