import { expect, test } from 'vitest';
import { countsText, type PageFinding, type Severity } from './finding.ts';
import { Findings } from './findings.ts';

function finding(rule: string, severity: Severity, ...records: number[]): PageFinding {
  return { rule, area: 'http', severity, right: '', revision: '2025-11-25', clause: '', records, seen: '' };
}

const rulesOf = (findings: Findings): string[] =>
  findings.rules.map(({ rule, severity, count, findings: kept }) => `${rule} ${severity} ${count} ${kept.length}`);

test('a finding is at the record that shows it best, and among those of its other records', () => {
  const findings = new Findings();
  const one = finding('a', 'error', 4, 3);
  const two = finding('b', 'warning', 3);
  findings.add([one, two, finding('c', 'advice')]);
  expect(findings.at(4)).toEqual([one]);
  expect(findings.at(3)).toEqual([two]);
  expect(findings.of(3)).toEqual([one, two]);
  expect(findings.of(5)).toEqual([]);
  expect(findings.counts).toEqual({ error: 1, warning: 1, advice: 1 });
});

test('rules come with the worst severity first, then with the most findings', () => {
  const findings = new Findings();
  findings.add([finding('often', 'warning', 1), finding('often', 'warning', 2), finding('rare', 'warning', 3)]);
  findings.add([finding('advice', 'advice', 4), finding('often', 'error', 5)]);
  expect(rulesOf(findings)).toEqual(['often error 1 1', 'often warning 2 2', 'rare warning 1 1', 'advice advice 1 1']);
  expect([...findings.ruleIds]).toEqual(['often', 'rare', 'advice']);
});

test('the oldest findings are dropped, but counted', () => {
  const findings = new Findings(20);
  for (let n = 1; n <= 100; n += 1) findings.add([finding(n % 2 === 0 ? 'even' : 'odd', 'error', n, 1000)]);
  const { dropped } = findings;
  expect(dropped).toBeGreaterThanOrEqual(79);
  expect(dropped).toBeLessThanOrEqual(80);
  expect(findings.of(1)).toEqual([]);
  expect(findings.of(100)).toHaveLength(1);
  expect(findings.of(1000)).toHaveLength(100 - dropped);
  expect(findings.counts.error).toBe(100);
  expect(findings.rules.map(({ count }) => count)).toEqual([50, 50]);
  expect(findings.rules.reduce((sum, rule) => sum + rule.findings.length, 0)).toBe(100 - dropped);
});

test('counts are written in words', () => {
  expect(countsText({ error: 1, warning: 1200, advice: 0 })).toBe('1 error, 1,200 warnings');
  expect(countsText({ error: 0, warning: 0, advice: 2 })).toBe('2 pieces of advice');
});
