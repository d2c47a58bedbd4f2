import { KEYS } from './keys.ts';
import { KEY, MAX_FILTER } from './parse.ts';
import { quotedValue, tokensOf } from './tokens.ts';

/** What can be written at a position in a filter. A suggestion replaces the characters from `start` to before `end`. */
export interface Completion {
  readonly start: number;
  readonly end: number;
  readonly suggestions: readonly string[];
}

/** The values that occur in a capture, by the name of their key: methods, tools, headers. */
export type KnownValues = Readonly<Record<string, Iterable<string>>>;

const MAX_SUGGESTIONS = 20;

/** Suggests keys and values for the word that contains a position or ends there. */
export function complete(filter: string, position: number, known: KnownValues): Completion {
  if (filter.length > MAX_FILTER) return { start: position, end: position, suggestions: [] };
  const word = tokensOf(filter).find(({ type, start, end }) => type === 'word' && start < position && position <= end);
  const { start, end } = word ?? { start: position, end: position };
  const written = filter.slice(start, position);
  return { start, end, suggestions: suggestionsFor(written, known) };
}

function suggestionsFor(written: string, known: KnownValues): string[] {
  const [whole, name = ''] = KEY.exec(written) ?? [];
  if (whole === undefined) {
    const keys = [...KEYS].map(([key, { operators }]) => (key === 'body' ? 'body:$.' : key + operators[0]));
    return matching(keys, (key) => key.startsWith(written.toLowerCase()));
  }
  const key = KEYS.get(name.toLowerCase());
  if (!key) return [];
  const begun = written.slice(whole.length).replace(/^"/, '').toLowerCase();
  if (key.operators.length > 1) return begun === '' ? [whole + key.example.replace(/^.*[<>]/, '')] : [];
  const values = key.values ?? (Object.hasOwn(known, name.toLowerCase()) ? known[name.toLowerCase()]! : []);
  return matching(values, (value) => value.toLowerCase() !== begun && value.toLowerCase().includes(begun)).map(
    (value) => whole + quotedValue(value),
  );
}

function matching(values: Iterable<string>, test: (value: string) => boolean): string[] {
  const found: string[] = [];
  for (const value of values) {
    if (found.length === MAX_SUGGESTIONS) break;
    if (test(value)) found.push(value);
  }
  return found;
}
