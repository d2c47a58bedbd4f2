/** The known word nearest to a mistyped one, if one is near. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const typed = word.toLowerCase();
  let best: string | undefined;
  // A third of the letters may be wrong; beyond that a suggestion only confuses.
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of known) {
    const edits = distance(typed, name.toLowerCase(), least);
    if (edits < least) {
      least = edits;
      best = name;
    }
  }
  return best;
}

/** ` (did you mean "x"?)`, or nothing. */
export function suggestion(word: string, known: Iterable<string>): string {
  const name = nearest(word, known);
  return name === undefined ? '' : ` (did you mean ${JSON.stringify(name)}?)`;
}

/** The number of letters to insert, delete, change or swap; at most `limit`. */
function distance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let edits = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) edits = Math.min(edits, beforeLast[column - 2]! + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return Math.min(last[to.length]!, limit);
}
