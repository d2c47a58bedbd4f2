import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The path of a built file or folder, below `dist`. The package finds itself, so this also works from its sources. */
export function built(name: string): string {
  return path.join(fileURLToPath(import.meta.resolve('everwire/package.json')), '../dist', name);
}
