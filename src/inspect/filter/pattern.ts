/** Tests a text. */
export type TextTest = (text: string) => boolean;

/** A piece of a value as it was written. In quotes, `*` is an asterisk. */
export interface Piece {
  readonly text: string;
  readonly quoted: boolean;
}

/** Whether a whole text is a value. Upper and lower case are the same, and `*` stands for any text. */
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
    // The first place is always the best, so no place is tried twice.
    let at = begin.length;
    for (const part of between) {
      const found = low.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return low.length - end.length >= at && low.endsWith(end);
  };
}

/** Whether a text contains another. Upper and lower case are the same. */
export function containing(part: string): TextTest {
  // A regular expression makes no copy of the text.
  const pattern = new RegExp(part.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'), 'iu');
  return (text) => pattern.test(text);
}
