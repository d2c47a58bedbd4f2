import { existsSync } from 'node:fs';
import path from 'node:path';

type Replacement = string | { readonly id: string; readonly external: true } | undefined;

/** A plugin for Rolldown and Vite. @param replace what a relative import of a file gets instead, if anything. */
export function replaceFiles(replace: (file: string) => Replacement) {
  return {
    name: 'replace',
    resolveId: (id: string, importer: string | undefined): Replacement =>
      importer !== undefined && id.startsWith('.') ? replace(path.resolve(path.dirname(importer), id)) : undefined,
  };
}

/** The file that replaces `x.ts`: the first of `x.browser.ts`, `x.web.ts` and so on that there is. */
export function withEnding(file: string, ...endings: readonly ('.browser' | '.web')[]): string | undefined {
  return endings
    .map((ending) => file.replace(/\.ts$/, `${ending}.ts`))
    .find((other) => other !== file && existsSync(other));
}
