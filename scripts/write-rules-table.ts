import { readFileSync, writeFileSync } from 'node:fs';
import { BEHAVIOUR_RULES } from '../src/check/rules/index.ts';
import { RULES } from '../src/lint/index.ts';
import { behaviourTable, rulesTables, withTables } from './rules-table.ts';

/** Writes the tables of rules into `docs/check.md`. */
const page = 'docs/check.md';
const withWire = withTables(readFileSync(page, 'utf8'), rulesTables(RULES));
writeFileSync(page, withTables(withWire, behaviourTable(BEHAVIOUR_RULES), 'behaviour'));
