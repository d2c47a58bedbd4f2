/** The known word nearest to a mistyped one, if at most a third of its letters differ. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let found: string | undefined;
  let limit = Math.ceil(word.length / 3) + 1;
  for (const name of known) {
    const edits = distance(word.toLowerCase(), name.toLowerCase(), limit);
    if (edits < limit) [found, limit] = [name, edits];
  }
  return found;
}

/** How many letters must be added, removed or replaced (Levenshtein). It may return `limit` if there are more. */
function distance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = row[j]! + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, row[j + 1]! + 1, next[j]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}

/** ` (did you mean "x"?)`, or nothing. */
export function suggestion(word: string, known: Iterable<string>): string {
  const name = nearest(word, known);
  return name === undefined ? '' : ` (did you mean ${JSON.stringify(name)}?)`;
}
