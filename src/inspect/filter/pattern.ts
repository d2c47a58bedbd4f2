/** Tests a text. */
export type TextTest = (text: string) => boolean;

/** A piece of a value in a filter. In quotes, `*` stands for itself. */
export interface Piece {
  readonly text: string;
  readonly quoted: boolean;
}

/** Tests whether a text equals a value as a whole. Ignores case; `*` stands for any text. */
export function wholeText(value: readonly Piece[]): TextTest {
  const parts = [''];
  for (const { text, quoted } of value) {
    const [first = '', ...others] = quoted ? [text] : text.split('*');
    parts.push(parts.pop()! + first, ...others);
  }
  const lower = parts.map((part) => part.toLowerCase());
  const [begin = '', ...rest] = lower;
  const end = rest.pop();
  if (end === undefined) return (text) => text === parts[0] || text.toLowerCase() === begin;
  const between = rest.filter((part) => part !== '');
  return (text) => {
    const low = text.toLowerCase();
    if (!low.startsWith(begin)) return false;
    // The first match of each part leaves the most text for the next parts, so no other match need be tried.
    let at = begin.length;
    for (const part of between) {
      const found = low.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return low.length - end.length >= at && low.endsWith(end);
  };
}

/** Tests whether a text contains another. Ignores case. */
export function containing(part: string): TextTest {
  // Unlike `toLowerCase`, a regular expression makes no copy of the text.
  const pattern = new RegExp(part.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'), 'iu');
  return (text) => pattern.test(text);
}
