import { open, unlink, type FileHandle } from 'node:fs/promises';

/**
 * Creates a file that only its owner can read, with this content on disk. If that fails, there is no new file.
 *
 * @throws Error with a `code`, and with the path in its message. `EEXIST` if the file exists.
 */
export async function createFile(file: string, content: string): Promise<void> {
  await fill(file, await open(file, 'wx', 0o600), content);
}

/**
 * Replaces the content of a file in place, on disk. Content that is not longer than before needs no free space. If that
 * fails, the file is removed.
 *
 * @throws Error with a `code`, and with the path in its message.
 */
export async function overwriteFile(file: string, content: string): Promise<void> {
  await fill(file, await open(file, 'r+'), content);
}

async function fill(file: string, handle: FileHandle, content: string): Promise<void> {
  try {
    await handle.writeFile(content);
    // Only now: a truncated file would lose its space to other programs.
    await handle.truncate(Buffer.byteLength(content));
    await handle.sync();
    await handle.close();
  } catch (error) {
    await handle.close().catch(() => {});
    await unlink(file);
    const { message } = error as Error;
    throw Object.assign(error as Error, { message: `${message}, write '${file}'` });
  }
}
