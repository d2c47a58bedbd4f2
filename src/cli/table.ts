import { cut, oneLine, widthOf } from './screen.ts';

/** The widest that a column but the last may be, in characters. */
const MAX_COLUMN = 60;
/** With less room than this beside the other columns, the last column goes below them. */
const MIN_LAST_COLUMN = 30;

/**
 * Lines up rows of words, two spaces apart and two from the margin.
 *
 * @param width of the terminal, in columns. Lines are cut to it, and the last of several columns goes on lines of its own if
 * there is no room for it. Undefined for no limit.
 */
export function table(rows: readonly (readonly unknown[])[], width?: number): string {
  const words = rows.map((row) => row.map(oneLine));
  const columns = most(words, (row) => row.length);
  const widths = Array.from({ length: columns }, (_, column) => {
    return Math.min(
      MAX_COLUMN,
      most(words, (row) => widthOf(row[column] ?? '')),
    );
  });
  const line = (cells: readonly string[]): string => {
    const padded = cells.map((word, column) => word + ' '.repeat(Math.max(0, widths[column]! - widthOf(word))));
    const whole = `  ${padded.join('  ')}`.trimEnd();
    return `${width === undefined ? whole : cut(whole, width)}\n`;
  };
  const others = widths.slice(0, -1).reduce((sum, each) => sum + each + 2, 2);
  const below = columns > 2 && width !== undefined && width - others < Math.min(MIN_LAST_COLUMN, widths.at(-1)!);
  if (!below) return words.map(line).join('');
  return words
    .map((row) => {
      const last = row[columns - 1];
      return line(row.slice(0, columns - 1)) + (last ? `${cut(`      ${last}`, width)}\n` : '');
    })
    .join('');
}

/** The highest measure of all rows, which may be more than a function takes arguments. */
function most(rows: readonly string[][], measure: (row: string[]) => number): number {
  return rows.reduce((highest, row) => Math.max(highest, measure(row)), 0);
}
