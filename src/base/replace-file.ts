import { randomBytes } from 'node:crypto';
import { constants, renameSync } from 'node:fs';
import { access, chmod, chown, lstat, realpath, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { createFile } from './create-file.ts';
import { retryInUse } from './file-in-use.ts';
import { makeFolder } from './make-folder.ts';
import { readRegularFile } from './regular-file.ts';
import { readMarkedUtf8File } from './text-file.ts';
import { decodeUtf8 } from './utf8.ts';

/** A text file as it was read. */
export interface TextFile {
  /** Where links lead to. */
  readonly file: string;
  /** Undefined if the file does not exist. */
  readonly text: string | undefined;
  /** The largest content that is read, in bytes. */
  readonly maxBytes: number;
}

/**
 * Reads a file that may be replaced.
 *
 * @throws Error if the file exists, but is no regular text file in UTF-8 of at most `maxBytes`. Its message does not quote
 * the file.
 */
export async function readTextFile(file: string, maxBytes: number): Promise<TextFile> {
  let target: string;
  try {
    target = await realpath(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const link = await lstat(file).catch(() => undefined);
    if (link) throw new Error('it is a link to a file that does not exist', { cause: error });
    return { file, text: undefined, maxBytes };
  }
  return { file: target, text: readMarkedUtf8File(target, maxBytes), maxBytes };
}

/**
 * Replaces the content of a file in one step, or creates the file and its folders. A file keeps its owner and mode. A new
 * file belongs to its owner alone, because it may contain secrets.
 *
 * @param before the file as it was read.
 * @throws Error if the file has changed since then, or cannot be written. Then it is as before.
 */
export async function replaceFile(before: TextFile, text: string): Promise<void> {
  const { file } = before;
  checkUnchanged(before);
  const existing = before.text === undefined ? undefined : await stat(file);
  // The folder may allow to replace a file that is write-protected.
  if (existing) await access(file, constants.W_OK);
  await makeFolder(path.dirname(file));
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  await createFile(temporary, text);
  try {
    if (existing) {
      const own = await stat(temporary);
      if (own.uid !== existing.uid || own.gid !== existing.gid) await chown(temporary, existing.uid, existing.gid);
      await chmod(temporary, existing.mode & 0o7777);
    }
    // The disk may have taken long. Without a pause in between, hardly another program can write after the check.
    await retryInUse(() => {
      checkUnchanged(before);
      renameSync(temporary, file);
    });
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
}

/** @throws Error if another program has changed the file since it was read. */
function checkUnchanged({ file, text, maxBytes }: TextFile): void {
  if (currentText(file, maxBytes) !== text) throw new Error('another program has changed it meanwhile: try again');
}

/** Undefined if there is no file, null if it is not a text. */
function currentText(file: string, maxBytes: number): string | null | undefined {
  try {
    return decodeUtf8(readRegularFile(file, maxBytes)) ?? null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
