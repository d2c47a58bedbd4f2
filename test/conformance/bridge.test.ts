import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runThroughBridge, type BridgeRun, type Setup } from './bridge-run.ts';
import { complaints, excusedOf, report, shownScores, skipped, tally } from './score.ts';
import type { Scenario } from './suite.ts';

/** Checks that need what a handshake revision cannot express. */
const inexpressible = excusedOf('server', fileURLToPath(new URL('bridge-expected-failures.yml', import.meta.url)));

/** A check that the suite names but never runs. Its own reason is that it would look in the wrong place. */
const unrun = new Set(['tasks-status-notifications']);

interface Cell extends Setup {
  readonly excused: ReadonlySet<string>;
}

function cells(requirements: Setup['requirements'], eras: Setup['eras'], excused = new Set<string>()): Cell[] {
  return (['stdio', 'HTTP'] as const).map((transport) => ({ requirements, eras, transport, excused }));
}

const [newerOnLegacy, newerOnModern, olderOnLegacy, olderOnModern] = [
  cells('2026-07-28', 'legacy', new Set(inexpressible)),
  cells('2026-07-28', 'modern'),
  cells('2025-11-25', 'legacy'),
  cells('2025-11-25', 'modern'),
];
// The longest first, because they wait most of the time.
const CELLS = [newerOnLegacy, newerOnModern, olderOnLegacy, olderOnModern].flat();
/** The number of simultaneous runs. Each has its own bridge, server and suite. */
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

  test('no scenario is skipped that could run', () => {
    expect(
      skipped(run)
        .map(({ id }) => id)
        .filter((id) => !unrun.has(id)),
    ).toEqual([]);
  });

  test('no scenario passes that is expected to fail', () => {
    const failing = new Set(run.scenarios.flatMap(failures));
    expect([...excused].filter((entry) => !failing.has(entry))).toEqual([]);
  });

  test('the bridge reports no errors', () => {
    expect(errors).toEqual([]);
  });
});

test('docs/testing.md has the number of passing scenarios', () => {
  expect(shownScores('a bridge to a server of the same era')).toEqual([score(olderOnLegacy), score(newerOnModern), '']);
  expect(shownScores('a bridge to a server of the other era')).toEqual([
    score(olderOnModern),
    score(newerOnLegacy),
    '',
  ]);
});

/** The entries that a scenario may have in the list: the scenario itself, and each check that failed or warned. */
function failures({ name, checks }: Scenario): string[] {
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  return failed.length > 0 ? [name, ...failed.map(({ id }) => `${name}:${id}`)] : [];
}

/** The same over stdio and HTTP. */
function score(both: readonly Cell[]): string {
  return [...new Set(both.map((cell) => tally(runs.get(cell)!.run)))].join(' or ');
}
