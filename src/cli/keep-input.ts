import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Failure } from './failure.ts';
import { surroundings } from './surroundings.ts';

/** Options whose value is the path of a file that is read. The values of other options may be `@file`. */
const PATHS: ReadonlySet<string> = new Set(['config', 'saved', 'tlsCert', 'tlsKey']);

/**
 * Checks that the files of `--record` and `--out` are not files that the command reads, which would destroy them, nor the same file.
 * Paths that differ may name the same file. The configuration files of MCP hosts are never replaced.
 *
 * @param flags the options of the command.
 * @param files what the command reads in addition.
 * @throws Failure with code 2.
 */
export async function keepInputs(flags: object, ...files: string[]): Promise<void> {
  const { record, out } = flags as { readonly record?: string; readonly out?: string };
  if (record === undefined && out === undefined) return;
  const { usualFiles } = await import('./mcp-json.ts');
  const inputs = [...files, ...inputsOf(flags), ...usualFiles(surroundings()).map(({ file }) => file)];
  const taken = new Set(await Promise.all(inputs.map(identityOf)));
  for (const [option, output] of Object.entries({ '--record': record, '--out': out })) {
    const written = output === undefined ? undefined : await identityOf(output);
    if (written === undefined) continue;
    if (taken.has(written))
      throw Failure.usage(
        `${option}: ${output} is a file that this command uses for something else; choose another name`,
      );
    taken.add(written);
  }
}

/** The files that options name. */
function inputsOf(flags: object): string[] {
  return Object.entries(flags).flatMap(([name, given]: [string, unknown]) =>
    [given].flat().flatMap((value) => {
      if (typeof value !== 'string') return [];
      if (PATHS.has(name)) return value;
      // A call of `check` is tool=file.
      const file = name === 'call' ? /^[^=]+=(.+)$/s.exec(value) : /^@(.+)$/s.exec(value);
      return file ? file[1]! : [];
    }),
  );
}

/**
 * What all names of a file have in common. Undefined for a device, a folder and what cannot be read: opening it reports that. A file
 * that does not exist has only its path.
 */
async function identityOf(file: string): Promise<string | undefined> {
  try {
    const stats = await stat(file, { bigint: true });
    return stats.isFile() ? `${stats.dev} ${stats.ino}` : undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? path.resolve(file) : undefined;
  }
}
