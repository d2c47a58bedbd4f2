import { readFileSync } from 'node:fs';

/**
 * A code block that shows a file, or the lines between `// #region name` and `// #endregion name`. A comment before it has
 * the path: `<!-- file: examples/demo.ts -->` or `<!-- file: examples/demo.ts#name -->`.
 */
export interface ShownFile {
  /** Relative to the root of the project, with the name of the region if there is one. */
  readonly file: string;
  readonly shown: string;
  readonly actual: string;
}

const BLOCK = /<!-- file: (\S+) -->\n\n```\w*\n([\s\S]*?)```/g;

/**
 * The files that a page shows, in order.
 *
 * @param page the path from the root of the project
 */
export function filesShownIn(page: string): ShownFile[] {
  return [...read(page).matchAll(BLOCK)].map(([, file, shown]) => ({
    file: file!,
    shown: shown!,
    actual: partOf(file!),
  }));
}

/** A file, or a region of it without its indentation. */
function partOf(name: string): string {
  const [file = '', region] = name.split('#');
  const text = read(file);
  if (region === undefined) return text;
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  const last = lines.findIndex((line) => line.trim() === `// #endregion ${region}`);
  if (first < 0 || last < first) throw new Error(`${file} has no region ${region}`);
  const indentation = lines[first]!.indexOf('//');
  return lines
    .slice(first + 1, last)
    .map((line) => `${line.slice(indentation)}\n`)
    .join('');
}

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}
