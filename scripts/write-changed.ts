import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** What a program begins with. */
const SHEBANG = '#!';

/**
 * Writes a file if its content changed, in one step: another process may be reading it. A program can be executed, as
 * after an installation by npm.
 */
export function writeChanged(file: string, content: string | Uint8Array): void {
  mkdirSync(path.dirname(file), { recursive: true });
  try {
    if (readFileSync(file).equals(Buffer.from(content))) return;
  } catch {
    // It does not exist yet.
  }
  const isProgram = Buffer.from(content).subarray(0, SHEBANG.length).toString() === SHEBANG;
  writeFileSync(`${file}.new`, content, { mode: isProgram ? 0o755 : 0o644 });
  renameSync(`${file}.new`, file);
}
