import { closestMatch } from 'leven';

/** The known word nearest to a mistyped one, if at most a third of its letters differ. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const names = new Map(Array.from(known, (name) => [name.toLowerCase(), name]));
  const found = closestMatch(word.toLowerCase(), [...names.keys()], { maxDistance: Math.ceil(word.length / 3) });
  return found === undefined ? undefined : names.get(found);
}

/** ` (did you mean "x"?)`, or nothing. */
export function suggestion(word: string, known: Iterable<string>): string {
  const name = nearest(word, known);
  return name === undefined ? '' : ` (did you mean ${JSON.stringify(name)}?)`;
}
