import { cut, oneLine, widthOf } from './screen.ts';

/** The widest that a column but the last may be, in characters. */
const MAX_COLUMN = 60;

/**
 * Lines up rows of words, two spaces apart and two from the margin.
 *
 * @param width of the terminal, in columns; lines are cut to it. Undefined for no limit: what goes into a pipe is whole.
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
  return words
    .map((row) => {
      const padded = row.map((word, column) => word + ' '.repeat(Math.max(0, widths[column]! - widthOf(word))));
      const line = `  ${padded.join('  ')}`.trimEnd();
      return `${width === undefined ? line : cut(line, width)}\n`;
    })
    .join('');
}

/** The highest measure of all rows, which may be more than a function takes arguments. */
function most(rows: readonly string[][], measure: (row: string[]) => number): number {
  return rows.reduce((highest, row) => Math.max(highest, measure(row)), 0);
}
