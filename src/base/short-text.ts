/** The longest quote in an error, in UTF-16 code units. The other side may send a name of millions. */
const MAX_QUOTE = 256;

/**
 * A text of the other side as an error quotes it: a method, a name, a URI. A long one is cut, and its length follows.
 *
 * @param most the longest that is not cut, in UTF-16 code units. Default 256.
 */
export function shortText(text: string, most = MAX_QUOTE): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
}

/** The text of an error that quotes the other side. Each value in it is cut if it is long, and its length follows. */
export function quoting(words: TemplateStringsArray, ...values: readonly unknown[]): string {
  return words.reduce((text, word, n) => text + shortText(String(values[n - 1])) + word);
}

/** The beginning of a text, with an ellipsis if the text is longer. @param most the longest that is not cut, in UTF-16 code units. */
export function cutText(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A value of the other side where a text is expected: a text as it is, and anything else as JSON, which never throws. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : shortJson(value);
}

/** A value of the other side as JSON, as an error quotes it. A long one is cut, and its length follows. */
export function shortJson(value: unknown, most = MAX_QUOTE): string {
  return shortText(JSON.stringify(value) ?? 'undefined', most);
}
