import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Creates a folder that only its owner can enter, and the folders above it. Does nothing if it exists. The `recursive`
 * option of `mkdir` never returns in `/proc`, where nothing can be created, and blocks a thread: such a process does not
 * even end at SIGTERM.
 *
 * @param parents whether missing folders above it are created.
 * @throws Error with a `code`.
 */
export async function makeFolder(folder: string, parents = true): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    const parent = path.dirname(folder);
    if (code !== 'ENOENT' || !parents || parent === folder) throw error;
    await makeFolder(parent);
    await makeFolder(folder, false);
  }
}
