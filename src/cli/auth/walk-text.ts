import {
  STEPS,
  type AuthorizedRevision,
  type CheckResult,
  type ExchangeRecord,
  type StepRecord,
} from '../../auth/steps/step.ts';
import { countText } from '../check/check-report.ts';
import { wrapped } from '../wrapped.ts';
import type { WalkReport } from './walk-report.ts';

/** The first lines of a report. */
export function headText(target: string, revision: AuthorizedRevision): string {
  return `${wrapped(`${target}, by the rules of ${revision}`, '').join('\n')}\n`;
}

/** A step to read on a terminal, at most 80 columns wide. @param verbose whether to show requests and responses whole. */
export function stepText({ id, title, outcome, note, exchanges, checks }: StepRecord, verbose: boolean): string {
  const mark = outcome === 'done' ? '' : ` [${outcome}]`;
  const lines = [
    '',
    ...wrapped(`${STEPS.indexOf(id) + 1}. ${title} (${id})${mark}`, '', '   '),
    ...wrapped(note, '   '),
  ];
  for (const exchange of exchanges) lines.push(...(verbose ? wholeExchange(exchange) : shortExchange(exchange)));
  const passed = checks.filter(({ status }) => status === 'passed').map((each) => each.id);
  if (passed.length > 0) lines.push(...wrapped(`passed: ${passed.join(', ')}`, '   ', '     '));
  for (const check of checks) if (check.status === 'failed' || check.status === 'warning') lines.push(...breach(check));
  if (verbose)
    for (const check of checks)
      if (check.status === 'not applicable')
        lines.push(...wrapped(`not applicable: ${check.id}: ${check.seen}`, '   ', '     '));
  return `${lines.join('\n')}\n`;
}

function breach({ id, status, right, seen, clause, rfc }: CheckResult): string[] {
  const lines = [...wrapped(`${status.toUpperCase()}: ${id}`, '   '), ...wrapped(right, '     ')];
  if (seen !== undefined) lines.push(...wrapped(`seen: ${seen}`, '     ', '       '));
  if (clause !== undefined) lines.push(...wrapped(clause, '     '));
  if (rfc !== undefined) lines.push(...wrapped(rfc, '     '));
  return lines;
}

function shortExchange(
  { sender, method, url, response, problem, duration }: ExchangeRecord,
  address = url.replace(/\?.*/, '?…'),
): string[] {
  const result = problem ?? (response ? String(response.status) : undefined);
  const end = result === undefined ? '' : ` → ${result} (${duration} ms)`;
  return wrapped(`${sender === 'browser' ? 'browser: ' : ''}${method} ${address}${end}`, '   ', '     ');
}

function wholeExchange(exchange: ExchangeRecord): string[] {
  const { headers, body, response } = exchange;
  const lines = shortExchange(exchange, exchange.url);
  lines.push(...part('>', headers, body));
  if (response) lines.push(...part('<', response.headers, response.body));
  return lines;
}

function part(mark: string, headers: Readonly<Record<string, string>>, body: string | undefined): string[] {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  if (body !== undefined) lines.push(...body.split('\n'));
  return lines.flatMap((line) => wrapped(line, `     ${mark} `, `     ${mark}   `));
}

/** The last lines of a report. */
export function summaryText({ counts, steps, stoppedAt }: WalkReport, keepGoing: boolean): string {
  const { passed, failed, warning } = counts;
  const summary = [
    countText(steps.length, 'step', 'steps'),
    countText(passed, 'check passed', 'checks passed'),
    `${failed === 0 ? 'none' : failed} failed`,
    countText(warning, 'warning', 'warnings'),
    `${counts['not applicable']} not applicable`,
  ].join(', ');
  const lines = ['', ...wrapped(`${summary}.`, '')];
  if (stoppedAt) {
    const advice = keepGoing ? '' : ' To go on as far as possible, add --keep-going.';
    lines.push(...wrapped(`A client stops at ${stoppedAt}.${advice}`, ''));
  }
  return `${lines.join('\n')}\n`;
}
