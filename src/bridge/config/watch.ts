import { statSync } from 'node:fs';
import path from 'node:path';

/**
 * Calls `onchange` when a file was changed, removed or created again. It checks the file every `interval` milliseconds,
 * which works on every file system, through links, and if the folder is replaced. It does not keep the process alive.
 *
 * @returns a function that stops it.
 */
export function watchConfig(file: string, onchange: () => void, interval = 1000): () => void {
  const resolved = path.resolve(file);
  let last = versionOf(resolved);
  const timer = setInterval(() => {
    const version = versionOf(resolved);
    if (version === last) return;
    last = version;
    onchange();
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}

/** Changes whenever a file changes. Undefined if the file does not exist or cannot be inspected. */
export function versionOf(file: string): string | undefined {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch {
    return undefined;
  }
}
