import { describe, expect, test } from 'vitest';
import { SEEDS } from '../../test/support/lint-seeds.ts';
import { AREAS, RULES } from './index.ts';

/** What a seed breaks too: a server can accept only what a client did wrong. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  'http-header-mismatch-accepted': ['mcp-name-header'],
  'http-version-header-nonsense': ['http-version-header-negotiated'],
};

test('every rule has a seed, and every seed a rule', () => {
  const counts = AREAS.map((area) => `${area} ${RULES.filter((rule) => rule.area === area).length}`);
  console.info(`${RULES.length} rules: ${counts.join(', ')}`);
  expect(Object.keys(SEEDS).toSorted()).toEqual(RULES.map(({ id }) => id).toSorted());
});

describe('each rule finds its seed once, with its clause', () => {
  test.each(RULES.map((rule) => [rule.id, rule] as const))('%s', async (id, rule) => {
    const findings = await SEEDS[id]!().findings();
    const ids = findings.map((each) => each.rule.id);
    expect(ids, JSON.stringify(findings.map(({ rule: { id: found }, seen }) => `${found}: ${seen}`))).toEqual([
      ...(ALSO[id] ?? []),
      id,
    ]);
    const { revision, clause, records } = findings.at(-1)!;
    expect(clause).toBe(rule.clauses[revision]);
    expect(records.length).toBeGreaterThan(0);
  });
});
