import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Writes a file if its content changed, in one step: another process may be reading it. */
export function writeChanged(file: string, content: string | Uint8Array): void {
  mkdirSync(path.dirname(file), { recursive: true });
  try {
    if (readFileSync(file).equals(Buffer.from(content))) return;
  } catch {
    // It does not exist yet.
  }
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}
