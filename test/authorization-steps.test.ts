import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { stepTables } from '../scripts/rules-table.ts';
import { CHECKS } from '../src/auth/steps/checks/index.ts';
import { root } from './support/process.ts';

const page = readFileSync(`${root}docs/authorization-steps.md`, 'utf8');
const words = (text: string): string => text.replaceAll(/[\s|-]+/g, ' ');

test('docs/authorization-steps.md has the checks of all steps', () => {
  expect(words(page)).toContain(words(stepTables()));
});

test('docs/authorization-steps.md names the checks that a revision only advises', () => {
  const [, exceptions] = page.split('only warnings')[0]!.split('In 2025-03-26, ');
  const named = Array.from(exceptions!.matchAll(/`([^`]+)`/g), ([, id]) => id);
  expect(named).toEqual(CHECKS.filter(({ shouldIn }) => shouldIn).map(({ id }) => id));
});
