/**
 * Characters that can control a terminal or mislead its reader: control characters (C0, DEL, C1) except line breaks and
 * tabs, marks and overrides of writing direction, line and paragraph separators, characters without width, lone surrogates.
 */
const UNSAFE =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Surrogate}]/gu;

/** Joiners have no width either, but are needed in emoji and between letters of Arabic or Indic scripts. */
const STRAY_JOINER =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Script=Arabic}\p{Mark}])[\u200c\u200d]|[\u200c\u200d](?![\p{Extended_Pictographic}\p{Lo}])/gu;

/**
 * Shows unsafe characters as `\u001b` and the like, for terminals and logs. Line breaks and tabs stay. A JSON text keeps its
 * meaning, since these characters occur only in its strings, where this is an escape (RFC 8259, section 7).
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
