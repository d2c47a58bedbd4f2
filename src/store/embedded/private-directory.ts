import { chmod, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../base/make-folder.ts';

/** The files of a store. */
const OWN = /^(?:(?:state|damaged|repaired)\.mdb(?:-lock)?|lock-[0-9a-f]{8})$/;
const OTHERS = 0o077;
const windows = process.platform === 'win32';

/**
 * Creates a directory that only this user can enter, if it is missing. One that exists is closed to others, with the files
 * of a store in it.
 *
 * @throws Error if others can enter it, and it has files that are not of a store. Error with a `code`.
 */
export async function makePrivateDirectory(directory: string): Promise<void> {
  await makeFolder(path.resolve(directory));
  if (windows) return;
  const names = await readdir(directory);
  if (((await stat(directory)).mode & OTHERS) !== 0) {
    if (!names.every((name) => OWN.test(name)))
      throw new Error(
        'others can enter it, and it has other files: use an empty directory, or close this one to others',
      );
    await chmod(directory, 0o700);
  }
  for (const name of names) if (name.includes('.mdb') && OWN.test(name)) await chmod(path.join(directory, name), 0o600);
}

/** Makes a file readable for this user alone. */
export async function makePrivateFile(file: string): Promise<void> {
  if (!windows) await chmod(file, 0o600);
}
