import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The data folder of the command line is in a temporary folder, which is removed after the test run. */
export default function setup(): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-data-'));
  process.env['XDG_DATA_HOME'] = folder;
  process.env['LOCALAPPDATA'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
