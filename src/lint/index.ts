/**
 * Judges the records of a capture by the rules of the revision that was negotiated: each finding names the rule, the
 * clause of the specification, and what was seen.
 *
 * @module
 */
export { Linter, lint, type LinterOptions } from './linter.ts';
export type { LintRecord } from './lint-record.ts';
export { findingOf } from './finding.ts';
export { AREAS, type Area, type Clauses, type Finding, type RuleInfo, type Severity } from './rule.ts';
export { RULES } from './rules/index.ts';
