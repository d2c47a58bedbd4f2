/** The lines before and after a change that show where it is. */
const CONTEXT = 3;
const NO_LINE_END = '\\ No newline at end of file';

/**
 * The difference between two texts, in the unified format. It has one hunk, from the first to the last line that differs,
 * because an edit changes one place.
 *
 * @param before undefined if there was no file.
 */
export function unifiedDiff(file: string, before: string | undefined, after: string): string[] {
  const old = linesOf(before ?? '');
  const now = linesOf(after);
  const shorter = Math.min(old.length, now.length);
  let same = 0;
  while (same < shorter && old[same] === now[same]) same += 1;
  let sameAtEnd = 0;
  while (sameAtEnd < shorter - same && old.at(-1 - sameAtEnd) === now.at(-1 - sameAtEnd)) sameAtEnd += 1;
  const start = Math.max(0, same - CONTEXT);
  const trailing = Math.min(CONTEXT, sameAtEnd);
  const range = (lines: readonly string[]): string => {
    const count = lines.length - sameAtEnd + trailing - start;
    return `${count === 0 ? 0 : start + 1},${count}`;
  };
  const part = (mark: string, lines: readonly string[]): string[] =>
    lines.flatMap((line) => (line.endsWith('\n') ? [mark + line.replace(/\r?\n$/, '')] : [mark + line, NO_LINE_END]));
  return [
    `--- ${before === undefined ? '/dev/null' : file}`,
    `+++ ${file}`,
    `@@ -${range(old)} +${range(now)} @@`,
    ...part(' ', old.slice(start, same)),
    ...part('-', old.slice(same, old.length - sameAtEnd)),
    ...part('+', now.slice(same, now.length - sameAtEnd)),
    ...part(' ', old.slice(old.length - sameAtEnd, old.length - sameAtEnd + trailing)),
  ];
}

/** With their line ends. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
