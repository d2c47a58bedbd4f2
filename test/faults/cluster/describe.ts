import type { Fact, Trouble } from './history.ts';
import type { Report, Violation } from './storm.ts';

/** How many violations are shown with their history, of each kind. */
const SHOWN = 3;
/** How many facts of one violation are shown. */
const FACTS = 150;

/** The summary of a storm, and its violations with what led to them. */
export function describeReport({ violations, ends, faults, allowances, facts }: Report): string {
  const counts = (title: string, map: ReadonlyMap<string, number>): string[] => [
    title,
    ...[...map]
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, count]) => `${String(count).padStart(7)}  ${name}`.slice(0, 80)),
  ];
  const lines = [
    ...counts('Calls ended with:', ends),
    ...counts('Faults:', faults),
    ...counts('Allowed, because it is documented or not ours:', allowances),
    `${facts} facts, ${violations.length} violations`,
  ];
  for (const checker of new Set(violations.map((each) => each.checker))) {
    const found = violations.filter((each) => each.checker === checker);
    lines.push('', `${checker}: ${found.length}`);
    for (const violation of found.slice(0, SHOWN)) lines.push(describeViolation(violation));
  }
  return lines.join('\n');
}

/** A violation with what led to it. */
export function describeViolation({ what, subject, troubles }: Violation): string {
  if (!subject) return `- ${what}`;
  const start = subject.facts[0]!.at;
  const events = [...subject.facts, ...boundsOf(troubles)].toSorted((a, b) => a.at - b.at);
  return [`- ${subject.about}: ${what}`, ...events.slice(0, FACTS).map((event) => lineOf(event, start))].join('\n');
}

interface Bound {
  readonly at: number;
  readonly trouble: string;
}

/** When troubles began and ended. Those that begin and end together are one. */
function boundsOf(troubles: readonly Trouble[]): Bound[] {
  const alike = new Map<string, Trouble[]>();
  for (const each of troubles) {
    const key = `${each.what} ${each.from} ${each.until}`;
    alike.set(key, [...(alike.get(key) ?? []), each]);
  }
  return [...alike.values()].flatMap((group) => {
    const { what, from, until } = group[0]!;
    const name = group.map(({ process = 'all' }) => process).join(' ');
    const begin = { at: from, trouble: `${name}: ${what}` };
    const hasEnd = Number.isFinite(until) && until !== from;
    return hasEnd ? [begin, { at: until, trouble: `${name}: no longer ${what}` }] : [begin];
  });
}

function lineOf(event: Fact | Bound, start: number): string {
  const time = `${String(event.at - start).padStart(8)} ms`;
  if ('trouble' in event) return `${time}  ** ${event.trouble}`;
  const { at: _, about: __, what, ...rest } = event;
  const about = Object.entries(rest).map(([name, value]) => `${name}=${String(value)}`);
  return `${time}  ${what} ${about.join(' ')}`.slice(0, 160);
}
