import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A file as it is served. */
export interface StaticFile {
  readonly type: string;
  readonly bytes: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/**
 * Reads all files of a folder, by the path of their URL. Requests are answered from this map only, so no path leads out
 * of the folder.
 *
 * @throws Error if the folder cannot be read, has no `index.html`, or has a file of a type that is not served.
 */
export function readStaticFiles(folder: string): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const file = path.join(entry.parentPath, entry.name);
    if (!entry.isFile()) throw new Error(`${file} is not a regular file`);
    const type = TYPES[path.extname(entry.name)];
    if (type === undefined) throw new Error(`${file} has a type that is not served`);
    const url = `/${path.relative(folder, file).split(path.sep).join('/')}`;
    files.set(url, { type, bytes: readFileSync(file) });
  }
  const index = files.get('/index.html');
  if (!index) throw new Error(`there is no index.html in ${folder}`);
  return files.set('/', index);
}
