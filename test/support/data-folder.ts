import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What the command line keeps for a person goes into a folder of the test run, and is gone with it. */
export default function setup(): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-data-'));
  process.env['XDG_DATA_HOME'] = folder;
  process.env['LOCALAPPDATA'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
