import { readRecording, type Capture } from 'everwire/inspect';
import { lint, Linter, RULES, type Finding, type RuleInfo } from 'everwire/lint';

export const rules: readonly RuleInfo[] = RULES;

export async function findings(file: string): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of lint(await readRecording(file))) found.push(finding);
  return found;
}

export async function live(capture: Capture): Promise<number> {
  const linter = new Linter({ maxBytes: undefined });
  for await (const { rule, seen, records } of lint(capture.records(), linter)) console.log(rule.id, seen, records[0]);
  return linter.exercised.size;
}
