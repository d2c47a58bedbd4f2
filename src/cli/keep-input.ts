import { stat } from 'node:fs/promises';
import { Failure } from './failure.ts';

/**
 * Checks that a command does not write to a file that it reads, which would destroy that file. Paths that differ may name the same
 * file.
 *
 * @param option the option that names the file to write.
 * @param output undefined without the option.
 * @param inputs undefined where an option is not given.
 * @throws Failure with code 2 if they are the same file.
 */
export async function keepInput(
  option: string,
  output: string | undefined,
  ...inputs: (string | undefined)[]
): Promise<void> {
  if (output === undefined) return;
  const written = await identityOf(output);
  if (written === undefined) return;
  for (const input of inputs) {
    if (input !== undefined && (await identityOf(input)) === written)
      throw Failure.usage(`${option}: ${output} is a file that this command reads; choose another name`);
  }
}

/** What all names of a file have in common. Undefined for what is no file, and for what cannot be read: opening it reports that. */
async function identityOf(path: string): Promise<string | undefined> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined);
  return stats?.isFile() ? `${stats.dev} ${stats.ino}` : undefined;
}
