import { cut, oneLine, widthOf } from './screen.ts';

/** The largest width of a column, in columns of the terminal. Does not apply to the last column. */
const MAX_COLUMN = 60;
/** If the last column has less room than this, it goes on its own lines. */
const MIN_LAST_COLUMN = 30;

/**
 * Formats rows as a table. Columns are two spaces apart, and indented by two.
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

/** The maximum over all rows. `Math.max(...rows)` would fail for very many rows. */
function most(rows: readonly string[][], measure: (row: string[]) => number): number {
  return rows.reduce((highest, row) => Math.max(highest, measure(row)), 0);
}
