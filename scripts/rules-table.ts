import { CHECKS } from '../src/auth/steps/checks/index.ts';
import { AUTHORIZED_REVISIONS, STEP_TITLES, STEPS } from '../src/auth/steps/step.ts';
import type { BehaviourRule } from '../src/check/rule.ts';
import { AREAS, type RuleInfo } from '../src/lint/index.ts';

/** The tables of all rules by area, as `docs/check.md` has them. */
export function rulesTables(rules: readonly RuleInfo[]): string {
  const areas = AREAS.map((area) => ({ area, own: rules.filter((rule) => rule.area === area) })).filter(
    ({ own }) => own.length > 0,
  );
  const counts = areas.map(({ area, own }) => `${area} ${own.length}`).join(', ');
  const tables = areas.map(
    ({ area, own }) => `### ${area}\n\n${table([['Rule', 'Severity', 'Since', 'What is right'], ...own.map(row)])}\n`,
  );
  return `${rules.length} rules: ${counts}.\n\n${tables.join('\n')}`;
}

/** The table of the rules about the behaviour of a running server. */
export function behaviourTable(rules: readonly BehaviourRule[]): string {
  const rows = rules.map((rule) => [rule.area, ...row(rule)]);
  return `${rules.length} rules.\n\n${table([['Area', 'Rule', 'Severity', 'Since', 'What is right'], ...rows])}\n`;
}

/** The tables of the checks of each step of authorization, as `docs/authorization-steps.md` has them. */
export function stepTables(): string {
  const tables = STEPS.map((step, at) => {
    const rows = CHECKS.filter((rule) => rule.step === step).map(({ id, level, clauses, rfc = '', right }) => [
      `\`${id}\``,
      level === 'must' ? 'MUST' : 'SHOULD',
      AUTHORIZED_REVISIONS.every((each) => !clauses || clauses[each] !== undefined)
        ? 'all'
        : AUTHORIZED_REVISIONS.filter((each) => clauses?.[each] !== undefined).join(', '),
      right,
      rfc,
    ]);
    const title = `### ${at + 1}. ${STEP_TITLES[step]} (\`${step}\`)`;
    return `${title}\n\n${table([['Check', 'Level', 'Revisions', 'What is right', 'RFC'], ...rows])}\n`;
  });
  return `${CHECKS.length} checks.\n\n${tables.join('\n')}`;
}

/**
 * A page with tables in their place.
 *
 * @param place the name of the comments around it.
 * @throws Error if it has no place for them.
 */
export function withTables(page: string, tables: string, place = 'rules'): string {
  const [start, end] = [`<!-- ${place} -->\n`, `<!-- /${place} -->`];
  const [before, rest] = page.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`the page has no place for ${place}`);
  return `${before}${start}\n${tables}\n${end}${after}`;
}

function row({ id, severity, warningIn, clauses, right }: RuleInfo): string[] {
  const revisions = Object.keys(clauses);
  const [first = '', last = ''] = [revisions[0], revisions.at(-1)];
  const until = last === '2026-07-28' ? '' : first === last ? ' only' : ` until ${last}`;
  const level = warningIn ? `${severity} (warning until ${warningIn.at(-1)})` : severity;
  return [`\`${id}\``, level, `${first}${until}`, right.replaceAll('|', '\\|')];
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((each) => each[column]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const [header, ...body] = rows;
  return [line(header!), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
}
