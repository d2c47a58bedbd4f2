/** Shows characters that could control a terminal, end a line or mislead its reader as escapes such as `\u001b`. */
export function oneLine(text) {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}
