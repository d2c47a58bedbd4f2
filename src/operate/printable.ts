/**
 * What may fool a terminal, or whoever reads it: control characters but line breaks and tabs (C0, DEL, C1), marks and
 * overrides of writing direction, separators of lines and paragraphs, characters without width, and halves of pairs.
 */
const UNSAFE =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Surrogate}]/gu;

/** Joiners have no width either, and stay where writing needs them: in emoji, and between letters of Arabic or Indic scripts. */
const STRAY_JOINER =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Script=Arabic}\p{Mark}])[\u200c\u200d]|[\u200c\u200d](?![\p{Extended_Pictographic}\p{Lo}])/gu;

/**
 * Makes visible what must not reach a terminal or a log as it is, as `\u001b`. Line breaks and tabs stay. JSON stays the
 * same JSON: such characters can stand in its strings only, where they may be written so (RFC 8259, section 7).
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSAFE, escaped).replace(STRAY_JOINER, escaped);
}

/** The same in one line: line breaks and tabs are shown as `\n` and `\t`. */
export function printableLine(text: string): string {
  return printable(text)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\t', String.raw`\t`);
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
