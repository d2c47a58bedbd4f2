/** Milliseconds before each new try: together about two seconds. */
const PAUSES = [10, 20, 50, 100, 200, 500, 1000];
const IN_USE: ReadonlySet<string | undefined> = new Set(['EPERM', 'EACCES', 'EBUSY']);

/**
 * Renames or removes a file. Windows refuses that while another program has the file open, which virus scanners and backups do
 * for a moment. So there it is tried again for two seconds.
 *
 * @throws what `change` throws.
 */
export async function retryInUse<T>(change: () => T | Promise<T>, platform = process.platform): Promise<T> {
  for (const milliseconds of platform === 'win32' ? PAUSES : []) {
    try {
      return await change();
    } catch (error) {
      if (!IN_USE.has((error as NodeJS.ErrnoException).code)) throw error;
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
    }
  }
  return change();
}
