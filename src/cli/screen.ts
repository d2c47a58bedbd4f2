/** Text that comes from a peer, for a terminal. */

/** Makes visible what would speak to the terminal: all control characters but line breaks and tabs. */
export function harmless(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The same in one line. */
export function oneLine(text: string): string {
  return harmless(text).replace(/\s+/g, ' ').trim();
}

/** The beginning of a line that has to fit. */
export function cut(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

/** How long a text is on a terminal, in columns, where each character takes one. */
export function widthOf(text: string): number {
  return Array.from(text).length;
}

/** Units of a thousand, as disks and networks count. */
export function bytes(count: number): string {
  if (count < 1000) return count === 1 ? '1 byte' : `${count} bytes`;
  const [value, unit] = count < 999_500 ? [count / 1000, 'kB'] : [count / 1_000_000, 'MB'];
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
}
