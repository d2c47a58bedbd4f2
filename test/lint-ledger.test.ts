import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseLedger, type Statement } from '../scripts/ledger.ts';
import type { Revision } from '../src/protocol/revisions.ts';
import { RULES } from '../src/lint/index.ts';
import { REASONS, UNSEEN } from './support/lint-unseen.ts';
import { root } from './support/process.ts';

/** Every statement of the ledgers, by revision, page and number. */
const statements = new Map<string, Statement>();
for (const file of readdirSync(`${root}docs/ledger`)) {
  for (const page of parseLedger(readFileSync(`${root}docs/ledger/${file}`, 'utf8'))) {
    for (const each of page.statements) statements.set(`${file.slice(0, -3)} ${page.path} ${each.number}`, each);
  }
}

/** The statements that the clauses of rules name, with the rules. */
const judged = new Map<string, string[]>();
/** The statements of each rule and revision. */
const cited: { readonly rule: string; readonly severity: string; readonly keys: string[] }[] = [];
for (const { id, severity: usual, warningIn, clauses } of RULES) {
  for (const [revision, clause] of Object.entries(clauses)) {
    const keys = clause.split('; ').flatMap((part) => {
      const [page = '', numbers] = part.split(' ');
      return (numbers?.split(',') ?? []).map((number) => `${revision} ${page} ${number}`);
    });
    for (const key of keys) judged.set(key, [...(judged.get(key) ?? []), id]);
    const severity = warningIn?.includes(revision as Revision) ? 'warning' : usual;
    cited.push({ rule: `${id} in ${revision}`, severity, keys });
  }
}

/** The statements without a rule, with their reason. */
const unseen = new Map<string, string>();
for (const [revision, pages] of Object.entries(UNSEEN)) {
  for (const [page, text] of Object.entries(pages)) {
    for (const part of text.split('; ')) {
      const [reason = '', numbers = ''] = part.split(' ');
      for (const range of numbers.split(',')) {
        const [first = 0, last = first] = range.split('-').map(Number);
        for (let number = first; number <= last; number += 1) unseen.set(`${revision} ${page} ${number}`, reason);
      }
    }
  }
}

test('the clauses of rules and the table name statements that exist', () => {
  expect([...judged.keys(), ...unseen.keys()].filter((key) => !statements.has(key))).toEqual([]);
  expect([...unseen.values()].filter((reason) => !Object.hasOwn(REASONS, reason))).toEqual([]);
});

test('each statement of the ledger has a rule, or a reason why it has none', () => {
  expect([...statements.keys()].filter((key) => !judged.has(key) && !unseen.has(key))).toEqual([]);
  expect([...unseen.keys()].filter((key) => judged.has(key))).toEqual([]);
  const counts = Object.keys(REASONS).map((reason) => {
    return `${reason} ${[...unseen.values()].filter((each) => each === reason).length}`;
  });
  console.info(`${statements.size} statements: ${judged.size} have rules, ${counts.join(', ')}`);
});

test('an error breaks a MUST, and a warning no MUST alone', () => {
  const isMust = (key: string): boolean => /^(MUST|SHALL|REQUIRED)/.test(statements.get(key)!.level);
  const wrong = cited.filter(({ severity, keys }) => {
    if (keys.length === 0 || severity === 'advice') return false;
    return severity === 'error' ? !keys.some(isMust) : keys.every(isMust);
  });
  expect(wrong.map(({ rule, severity, keys }) => `${rule} is ${severity}: ${keys.join(', ')}`)).toEqual([]);
});
