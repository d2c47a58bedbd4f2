import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Leftovers } from './clients/leak.ts';

/** A heap limit, in MB, that a process exceeds if its calls leave memory behind. */
const HEAP = 256;

/** Makes the given number of calls in a separate process, and returns what they left behind. */
export async function leftovers(place: string, eras: string, calls: number): Promise<Leftovers> {
  const script = fileURLToPath(new URL('clients/leak.js', import.meta.url));
  const flags = ['--expose-gc', '--no-warnings', `--max-old-space-size=${HEAP}`];
  const words = [...flags, script, '--place', place, '--eras', eras, '--calls', String(calls)];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return JSON.parse(stdout) as Leftovers;
}
