import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileProblem } from '../../base/file-problem.ts';
import { ifMissing } from '../../base/missing-package.ts';
import { makePrivateFile } from './private-directory.ts';
import type * as Lmdb from 'lmdb';
import type { RootDatabase } from 'lmdb';
import { checkSpace } from './writer.ts';

/**
 * Opens an LMDB file, which only this user can read. Writes are not flushed one by one: they survive the end of this process, also by `kill -9`, but the
 * newest ones may be lost if the machine loses power.
 *
 * @throws MissingPackage if `lmdb` is not installed. Error if the disk has no room for a new file.
 */
export async function openDatabase(file: string, readOnly = false): Promise<RootDatabase<Buffer, string>> {
  const { open } = await loadLmdb();
  checkRoom(file);
  const options = { noSubdir: true, encoding: 'binary', noSync: true, maxDbs: 8, readOnly } as const;
  const root = open<Buffer, string>({ path: file, ...options });
  if (readOnly) return root;
  try {
    for (const made of [file, `${file}-lock`]) await makePrivateFile(made);
    return root;
  } catch (error) {
    await root.close();
    throw error;
  }
}

/** Nobody can catch what happens if LMDB makes its files on a full disk: SIGBUS ends the process. */
function checkRoom(file: string): void {
  if (existsSync(file) && existsSync(`${file}-lock`)) return;
  try {
    checkSpace(file);
  } catch (error) {
    throw unusable(path.dirname(file), error);
  }
}

/** The error of a store whose folder or files cannot be made. */
export function unusable(directory: string, cause: unknown): Error {
  return new Error(`The store ${directory} cannot be used: ${fileProblem(cause)}`, { cause });
}

/** @throws MissingPackage if `lmdb` is not installed. */
export function loadLmdb(): Promise<typeof Lmdb> {
  return import('lmdb').catch(ifMissing('a store in a directory needs', 'lmdb'));
}
