import type { RuleInfo, WireRule } from '../rule.ts';
import { JSON_RPC_RULES } from './json-rpc.ts';
import { SCHEMA_RULES } from './schema.ts';
import { STDIO_RULES } from './stdio.ts';

/** All rules that judge the wire. Those of the schema come last, so that more telling ones are found first. */
export const WIRE_RULES: readonly WireRule[] = [...JSON_RPC_RULES, ...STDIO_RULES, ...SCHEMA_RULES];

/** All rules as data. */
export const RULES: readonly RuleInfo[] = WIRE_RULES.map(({ id, area, severity, clauses, right }) => ({
  id,
  area,
  severity,
  clauses,
  right,
}));
