import { readFileSync } from 'node:fs';

/** A code block that shows a file. A comment before it has the path: `<!-- file: examples/demo.ts -->`. */
export interface ShownFile {
  /** Relative to the root of the project. */
  readonly file: string;
  readonly shown: string;
  readonly actual: string;
}

const BLOCK = /<!-- file: (\S+) -->\n\n```ts\n([\s\S]*?)```/g;

/**
 * The files that a page shows, in order.
 *
 * @param page the path from the root of the project
 */
export function filesShownIn(page: string): ShownFile[] {
  return [...read(page).matchAll(BLOCK)].map(([, file, shown]) => ({
    file: file!,
    shown: shown!,
    actual: read(file!),
  }));
}

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}
