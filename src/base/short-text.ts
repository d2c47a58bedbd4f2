/** The longest quote in an error, in UTF-16 code units. The other side may send a name of millions. */
const MAX_QUOTE = 256;

/**
 * A text of the other side as an error quotes it: a method, a name, a URI. A long one is cut, and its length follows.
 *
 * @param most the longest that is not cut, in UTF-16 code units. Default 256.
 */
export function shortText(text: string, most = MAX_QUOTE): string {
  return text.length > most ? cut(beginning(text, most), text) : text;
}

/** A value of the other side as JSON, as an error quotes it. A long one is cut, and its length follows. */
export function shortJson(value: unknown, most = MAX_QUOTE): string {
  const json: string | undefined = JSON.stringify(value);
  if (typeof value !== 'string' || value.length <= most) return shortText(json ?? 'undefined', most);
  return cut(JSON.stringify(beginning(value, most)), value);
}

/** Without half of a surrogate pair at its end. */
function beginning(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}

function cut(shown: string, text: string): string {
  return `${shown}… (${text.length} characters)`;
}
