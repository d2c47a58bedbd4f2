import { SAME, type Feature } from './feature.ts';
import { KINDS, type Kind } from './kinds.ts';

/** The results of one cell: for features that both ends have, and for those that arrive in another form. */
export interface Score {
  readonly same: number;
  readonly passedSame: number;
  readonly other: number;
  readonly passedOther: number;
}

/** @param passed whether a feature passed. In the docs, all do. */
export function scoreOf(
  features: readonly Feature[],
  down: Kind,
  up: Kind,
  passed: (feature: Feature) => boolean = () => true,
): Score {
  const possible = features.filter(({ arrives }) => arrives(down, up) !== undefined);
  const [same, other] = [true, false].map((wanted) =>
    possible.filter(({ arrives }) => (arrives(down, up) === SAME) === wanted),
  ) as [Feature[], Feature[]];
  return {
    same: same.length,
    passedSame: same.filter(passed).length,
    other: other.length,
    passedOther: other.filter(passed).length,
  };
}

function cell({ same, passedSame, other, passedOther }: Score): string {
  const instead = passedOther === other ? `${other}` : `${passedOther}/${other}`;
  return `${passedSame}/${same}${other > 0 ? ` + ${instead}` : ''}`;
}

/** The matrix in Markdown: one row for each client, one column for each server. */
export function matrixTable(score: (down: Kind, up: Kind) => Score): string {
  const rows = KINDS.map((down) => [down.heading, ...KINDS.map((up) => cell(score(down, up)))]);
  return markdown(['client ↓ server →', ...KINDS.map(({ heading }) => heading)], rows);
}

/** In Markdown, what older clients get in place of newer features. */
export function insteadTable(features: readonly Feature[]): string {
  const rows = features.flatMap(({ name, arrives }) => {
    const clients = new Map<string, Set<string>>();
    for (const down of KINDS) {
      for (const up of KINDS) {
        const outcome = arrives(down, up);
        if (outcome === undefined || outcome === SAME) continue;
        clients.set(outcome, (clients.get(outcome) ?? new Set()).add(down.revision));
      }
    }
    return [...clients].map(([outcome, revisions]) => [name, span([...revisions]), outcome]);
  });
  return markdown(['What', 'reaches a client of', 'as'], rows);
}

function span(revisions: readonly string[]): string {
  const [first, last] = [revisions[0]!, revisions.at(-1)!];
  return first === last ? first : `${first} to ${last}`;
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(3, ...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
