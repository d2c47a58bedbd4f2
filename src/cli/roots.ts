import { statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Root } from '../protocol/types.ts';
import { Failure } from './failure.ts';

/**
 * The directories that are offered to the server as roots (2025-11-25, client/roots). Roots are information only: they
 * do not restrict the server.
 *
 * @throws Failure with code 2 if one is not a directory.
 */
export function rootsOf(directories: readonly string[], cwd = process.cwd()): Root[] {
  return directories.map((each) => {
    const directory = path.resolve(cwd, each);
    if (!isDirectory(directory)) throw Failure.usage(`--root ${JSON.stringify(each)} is not a directory`);
    return { uri: pathToFileURL(directory).href, name: path.basename(directory) || directory };
  });
}

function isDirectory(directory: string): boolean {
  try {
    return statSync(directory).isDirectory();
  } catch {
    return false;
  }
}
