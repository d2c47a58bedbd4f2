import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from './command-line.ts';
import { root } from './process.ts';

const LIBRARY = pathToFileURL(path.join(root, 'dist/lib/server.js')).href;

/** A file for `everwire dev`, which a test changes. */
export interface DevFile {
  readonly path: string;
  /** Writes another file beside it. Returns its path. */
  add(name: string, text: string): string;
  /** Writes the file. `code` uses `server`. */
  write(code: string): void;
  /** Writes the file as it is given. */
  replace(text: string): void;
}

/** The file is removed after the test. @param name of the file. */
export function devFile(code: string, name = 'server.mjs'): DevFile {
  const folder = temporaryFolder();
  const add = (other: string, text: string): string => {
    const file = path.join(folder, other);
    writeFileSync(file, text);
    return file;
  };
  const write = (lines: string): void =>
    void add(
      name,
      `import { McpServer } from '${LIBRARY}';\n` +
        `export const server = new McpServer({ name: 'mine', version: '1.0.0' });\n${lines}\n`,
    );
  write(code);
  return { path: path.join(folder, name), add, write, replace: (text) => void add(name, text) };
}
