import { readFileSync, writeFileSync } from 'node:fs';
import { BEHAVIOUR_RULES } from '../src/check/rules/index.ts';
import { RULES } from '../src/lint/index.ts';
import { behaviourTable, rulesTables, stepTables, withTables } from './rules-table.ts';

/** Writes the tables of rules into `docs/check.md` and `docs/authorization-steps.md`. */
const page = 'docs/check.md';
const withWire = withTables(readFileSync(page, 'utf8'), rulesTables(RULES));
writeFileSync(page, withTables(withWire, behaviourTable(BEHAVIOUR_RULES), 'behaviour'));

const steps = 'docs/authorization-steps.md';
writeFileSync(steps, withTables(readFileSync(steps, 'utf8'), stepTables(), 'checks'));
