import { open, unlink } from 'node:fs/promises';

/**
 * Creates a file that only its owner can read, with this content on disk. If that fails, there is no new file.
 *
 * @throws Error with a `code`, and with the path in its message. `EEXIST` if the file exists.
 */
export async function createFile(file: string, content: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
    await handle.close();
  } catch (error) {
    await handle.close().catch(() => {});
    await unlink(file);
    const { message } = error as Error;
    throw Object.assign(error as Error, { message: `${message}, write '${file}'` });
  }
}
