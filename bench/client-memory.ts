import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Leftovers } from './clients/leak.ts';

/** What a process with so much heap and no more does not survive where calls leave anything behind, in MB. */
const HEAP = 256;

/** Makes so many calls in a process of its own, and tells what they have left. */
export async function leftovers(place: string, eras: string, calls: number): Promise<Leftovers> {
  const script = fileURLToPath(new URL('clients/leak.js', import.meta.url));
  const flags = ['--expose-gc', '--no-warnings', `--max-old-space-size=${HEAP}`];
  const words = [...flags, script, '--place', place, '--eras', eras, '--calls', String(calls)];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return JSON.parse(stdout) as Leftovers;
}
