import { readFileSync, writeFileSync } from 'node:fs';
import { RULES } from '../src/lint/index.ts';
import { rulesTables, withTables } from './rules-table.ts';

/** Writes the tables of rules into `docs/check.md`. */
const page = 'docs/check.md';
writeFileSync(page, withTables(readFileSync(page, 'utf8'), rulesTables(RULES)));
